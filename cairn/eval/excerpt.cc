#include "cairn/eval/excerpt.h"

namespace cairn {
namespace {

constexpr std::string_view kExcerpt = R"text(
To the Senate and House of Representatives: The people of this country continue to enjoy great
prosperity. Undoubtedly there will be ebb and flow in such prosperity, and this ebb and flow will
be felt more or less by all members of the community, both by the deserving and the undeserving.
Against the wrath of the Lord the wisdom of man cannot avail; in time of flood or drought human
ingenuity can but partially repair the disaster. A general failure of crops would hurt all of us.
Again, if the folly of man mars the general well-being, then those who are innocent of the folly
will have to pay part of the penalty incurred by those who are guilty of the folly. A panic
brought on by the speculative folly of part of the business community would hurt the whole
business community. But such stoppage of welfare, though it might be severe, would not be lasting.
In the long run the one vital factor in the permanent prosperity of the country is the high
individual character of the average American worker, the average American citizen, no matter
whether his work be mental or manual, whether he be farmer or wage-worker, business man or
professional man.

In our industrial and social system the interests of all men are so closely intertwined that in
the immense majority of cases a straight-dealing man who by his efficiency, by his ingenuity and
industry, benefits himself must also benefit others. Normally the man of great productive capacity
who becomes rich by guiding the labor of many other men does so by enabling them to produce more
than they could produce without his guidance; and both he and they share in the benefit, which
comes also to the public at large. The superficial fact that the sharing may be unequal must never
blind us to the underlying fact that there is this sharing, and that the benefit comes in some
degree to each man concerned. Normally the wage-worker, the man of small means, and the average
consumer, as well as the average producer, are all alike helped by making conditions such that the
man of exceptional business ability receives an exceptional reward for his ability.

Something can be done by legislation to help the general prosperity; but no such help of a
permanently beneficial character can be given to the less able and less fortunate, save as the
results of a policy which shall inure to the advantage of all industrious and efficient people who
act decently; and this is only another way of saying that any benefit which comes to the less able
and less fortunate must of necessity come even more to the more able and more fortunate. If,
therefore, the less fortunate man is moved by envy of his more fortunate brother to strike at the
conditions under which they have both, though unequally, prospered, the result will assuredly be
that while danger may come to the one struck at, it will visit with an even heavier load the one
who strikes the blow. Taken as a whole we must all go up or down together. Yet, while not merely
admitting, but insisting upon this, it is also true that where there is no governmental restraint
or supervision some of the exceptional men use their energies not in ways that are for the common
good, but in ways which tell against this common good.

The fortunes amassed through corporate organization are now so large, and vest such power in those
that wield them, as to make it a matter of necessity to give to the sovereign-that is, to the
Government, which represents the people as a whole-some effective power of supervision over their
corporate use. In order to insure a healthy social and industrial life, every big corporation
should be held responsible by, and be accountable to, some sovereign strong enough to control its
conduct. I am in no sense hostile to corporations. This is an age of combination, and any effort
to prevent all combination will be not only useless, but in the end vicious, because of the
contempt for law which the failure to enforce law inevitably produces. We should, moreover,
recognize in cordial and ample fashion the immense good effected by corporate agencies in a
country such as ours, and the wealth of intellect, energy, and fidelity devoted to their service,
and therefore normally to the service of the public, by their officers and directors.

The corporation has come to stay, just as the trade union has come to stay. Each can do and has
done great good. Each should be favored so long as it does good. But each should be sharply
checked where it acts against law and justice. So long as the finances of the Nation are kept upon
an honest basis no other question of internal economy with which the Congress has the power to
deal begins to approach in importance the matter of endeavoring to secure proper industrial
conditions under which the individuals-and especially the great corporations-doing an interstate
business are to act. The makers of our National Constitution provided especially that the
regulation of interstate commerce should come within the sphere of the General Government. The
arguments in favor of their taking this stand were even then overwhelming. But they are far
stronger today, in view of the enormous development of great business agencies, usually corporate
in form.

Experience has shown conclusively that it is useless to try to get any adequate regulation and
supervision of these great corporations by State action. Such regulation and supervision can only
be effectively exercised by a sovereign whose jurisdiction is coextensive with the field of work
of the corporations-that is, by the National Government. I believe that this regulation and
supervision can be obtained by the enactment of law by the Congress. If this proves impossible, it
will certainly be necessary ultimately to confer in fullest form such power upon the National
Government by a proper amendment of the Constitution. It would obviously be unwise to endeavor to
secure such an amendment until it is certain that the result cannot be obtained under the
Constitution as it now is. The laws of the Congress and of the several States hitherto, as passed
upon by the courts, have resulted more often in showing that the States have no power in the
matter than that the National Government has power; so that there at present exists a very
unfortunate condition of things, under which these great corporations doing an interstate business
occupy the position of subjects without a sovereign, neither any State Government nor the National
Government having effective control over them.

Our steady aim should be by legislation, cautiously and carefully undertaken, but resolutely
persevered in, to assert the sovereignty of the National Government by affirmative action. This is
only in form an innovation. In substance it is merely a restoration; for from the earliest time
such regulation of industrial activities has been recognized in the action of the lawmaking
bodies; and all that I propose is to meet the changed conditions in such manner as will prevent
the Commonwealth abdicating the power it has always possessed not only in this country, but also
in England before and since this country became a separate Nation. It has been a misfortune that
the National laws on this subject have hitherto been of a negative or prohibitive rather than an
affirmative kind, and still more that they have in part sought to prohibit what could not be
effectively prohibited, and have in part in their prohibitions confounded what should be allowed
and what should not be allowed.

It is generally useless to try to prohibit all restraint on competition, whether this restraint be
reasonable or unreasonable; and where it is not useless it is generally hurtful. Events have shown
that it is not possible adequately to secure the enforcement of any law of this kind by incessant
appeal to the courts. The Department of Justice has for the last four years devoted more attention
to the enforcement of the anti-trust legislation than to anything else. Much has been
accomplished, particularly marked has been the moral effect of the prosecutions; but it is
increasingly evident that there will be a very insufficient beneficial result in the way of
economic change. The successful prosecution of one device to evade the law immediately develops
another device to accomplish the same purpose. What is needed is not sweeping prohibition of every
arrangement, good or bad, which may tend to restrict competition, but such adequate supervision
and regulation as will prevent any restriction of competition from being to the detriment of the
public-as well as such supervision and regulation as will prevent other abuses in no way connected
with restriction of competition.

Of these abuses, perhaps the chief, although by no means the only one, is
overcapitalization-generally itself the result of dishonest promotion-because of the myriad evils
it brings in its train; for such overcapitalization often means an inflation that invites business
panic; it always conceals the true relation of the profit earned to the capital actually invested,
and it creates a burden of interest payments which is a fertile cause of improper reduction in or
limitation of wages; it damages the small investor, discourages thrift, and encourages gambling
and speculation; while perhaps worst of all is the trickiness and dishonesty which it implies-for
harm to morals is worse than any possible harm to material interests, and the debauchery of
politics and business by great dishonest corporations is far worse than any actual material evil
they do the public. Until the National Government obtains, in some manner which the wisdom of the
Congress may suggest, proper control over the big corporations engaged in interstate commerce-that
is, over the great majority of the big corporations-it will be impossible to deal adequately with
these evils.

I am well aware of the difficulties of the legislation that I am suggesting, and of the need of
temperate and cautious action in securing it. I should emphatically protest against improperly
radical or hasty action. The first thing to do is to deal with the great corporations engaged in
the business of interstate transportation. As I said in my message of December 6 last, the
immediate and most pressing need, so far as legislation is concerned, is the enactment into law of
some scheme to secure to the agents of the Government such supervision and regulation of the rates
charged by the railroads of the country engaged in interstate traffic as shall summarily and
effectively prevent the imposition of unjust or unreasonable rates. It must include putting a
complete stop to rebates in every shape and form. This power to regulate rates, like all similar
powers over the business world, should be exercised with moderation, caution, and self-restraint;
but it should exist, so that it can be effectively exercised when the need arises.

The first consideration to be kept in mind is that the power should be affirmative and should be
given to some administrative body created by the Congress. If given to the present Interstate
Commerce Commission, or to a reorganized Interstate Commerce Commission, such commission should be
made unequivocally administrative. I do not believe in the Government interfering with private
business more than is necessary. I do not believe in the Government undertaking any work which can
with propriety be left in private hands. But neither do I believe in the Government flinching from
overseeing any work when it becomes evident that abuses are sure to obtain therein unless there is
governmental supervision. It is not my province to indicate the exact terms of the law which
should be enacted; but I call the attention of the Congress to certain existing conditions with
which it is desirable to deal, In my judgment the most important provision which such law should
contain is that conferring upon some competent administrative body the power to decide, upon the
case being brought before it, whether a given rate prescribed by a railroad is reasonable and
just, and if it is found to be unreasonable and unjust, then, after full investigation of the
complaint, to prescribe the limit of rate beyond which it shall not be lawful to go-the maximum
reasonable rate, as it is commonly called-this decision to go into effect within a reasonable time
and to obtain from thence onward, subject to review by the courts.

It sometimes happens at present not that a rate is too high but that a favored shipper is given
too low a rate. In such case the commission would have the right to fix this already established
minimum rate as the maximum; and it would need only one or two such decisions by the commission to
cure railroad companies of the practice of giving improper minimum rates. I call your attention to
the fact that my proposal is not to give the commission power to initiate or originate rates
generally, but to regulate a rate already fixed or originated by the roads, upon complaint and
after investigation. A heavy penalty should be exacted from any corporation which fails to respect
an order of the commission. I regard this power to establish a maximum rate as being essential to
any scheme of real reform in the matter of railway regulation. The first necessity is to secure
it; and unless it is granted to the commission there is little use in touching the subject at all.
)text";

}  // namespace

std::string_view EvalExcerpt() { return kExcerpt.substr(1); }

}  // namespace cairn
