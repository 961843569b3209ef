// A text of many kinds, about a thousand tokens, over which keys of a model are measured. Not the
// one that `cairn eval` reads when it is given none: forms are not to be judged by what they were
// fitted to.
#ifndef CAIRN_TOOLS_MEASURING_TEXT_H_
#define CAIRN_TOOLS_MEASURING_TEXT_H_

#include <string_view>

namespace cairn {

inline constexpr std::string_view kMeasuringText =
    R"(The ferry left the northern pier a little after six, when the fog had thinned enough to
show the
first buoy. Most of the passengers stood inside, near the stove, and talked about the price of
barley; only a girl with a green satchel stayed on deck and counted the gulls that followed the
wake. She had got as far as thirty-one when the engine changed its note and the whole boat turned,
slowly, towards the lighthouse. "We never stop there," said the man who sold tickets, mostly to
himself. "Not since the winter of the big ice." But they did stop, and somebody in a yellow coat
came aboard with a crate, and nobody asked what was in it.

How does a heat pump work? It moves warmth instead of making it. A fluid with a low boiling point
evaporates in the outdoor unit, even at a few degrees below zero, and takes up heat while it does.
The compressor raises its pressure, so its temperature rises, too; in the condenser the hot vapour
gives its heat to the water of the radiators and becomes liquid again. An expansion valve lowers
the pressure, and the cycle starts anew. For each kilowatt-hour of electricity one gets between
2.5 and 4.5 kilowatt-hours of heat. 1) Insulate first. 2) Keep the flow temperature below 55 C.
3) Don't oversize the unit.

def moving_average(values, window):
    """Yields the mean of the last `window` values, once there are so many."""
    total = 0.0
    for i, value in enumerate(values):
        total += value
        if i >= window:
            total -= values[i - window]
        if i >= window - 1:
            yield total / window

for (int i = 0; i < n; ++i) {
  if (a[i] > best) { best = a[i]; at = i; }
}
SELECT name, COUNT(*) AS orders FROM customers JOIN orders USING (customer_id)
WHERE placed >= '2021-03-01' GROUP BY name HAVING COUNT(*) > 3 ORDER BY orders DESC LIMIT 10;

{"id": 4711, "tags": ["red", "small"], "price": 12.90, "inStock": true, "supplier": null}

User: I planted tomatoes in May and now the lower leaves turn yellow. What should I do?
Assistant: Yellow leaves low on the plant are often a sign that nitrogen runs short, or that the
soil
stays too wet. Check the soil with a finger first: if it is damp two inches down, water less. If it
isn't, give a light feed and take the yellow leaves off, so that air moves between the stems. Are
there brown spots with rings on them? Then it may be early blight, and the leaves shouldn't go on
the compost.
User: No rings. Thanks!

In 1854 a physician drew a map of a London district and marked on it every house in which somebody
had died of cholera. The marks crowded around one pump. He could not see the germ, and the learned
opinion of his day blamed bad air; but the map said otherwise, and when the handle of the pump was
taken off, the outbreak, already fading, ended. Careful counting had done what argument could not.

Le train pour Lyon part a huit heures du quai numero trois. Der Zug nach Hamburg hat heute leider
zwanzig Minuten Verspaetung. El mercado abre los martes y los jueves por la manana.

Theorem. There are infinitely many primes. Proof. Suppose p1, ..., pn were all of them, and let
N = p1 * p2 * ... * pn + 1. No pi divides N, since each leaves the remainder 1. So N has a prime
factor that is not in the list, which contradicts the assumption. QED.

| city    | people    | founded |
| Arlon   | 30,142    | 1237    |
| Tarvik  | 1,208,770 | 981     |
| Ostrava | 284,982   | 1267    |

Whereas the parties wish to set out the terms on which the equipment is lent, they agree as follows:
the borrower shall return each item in the state in which it was received, ordinary wear excepted,
no later than the date stated in Annex B; the lender may, upon ten days' written notice, inspect it.

She opened the letter twice before she read it. It was short. "Come," it said, "the river is open
again, the apple trees are in bloom, and I have learned at last how to make the bread that you
liked.
There is room for the dog. Bring the blue jug if it survived, and don't tell my brother yet."
Outside,
the rain had stopped; a cart went by, then another, and behind them, out of step and singing, came
what seemed to be half the village.
)";

}  // namespace cairn

#endif  // CAIRN_TOOLS_MEASURING_TEXT_H_
