"""English words for the vocabulary, grown from stems by a compact morphology.

Owns: the stems and the endings. Does not own: ids (`vocabulary.py`). Floor 2c.
Source: ours; a list of stems that tool calls, logs and office talk are made of, not a frequency list.
"""

from __future__ import annotations

from collections.abc import Iterator

_PLAIN = """
a about above after again against all almost alone along already also although always am among an and another any
anyone anything are around as aside at away back be because been before behind being below beneath between beyond both
but by can cannot could did do does doing done down during each eight either eleven else enough even ever every everyone
everything few fifteen fifty first five for forever forty four from further had has have having he hello hence her here
hers herself him himself his how however hundred i if in indeed inside instead into is it its itself just last least
less many may maybe me might million mine more most much must my myself near neither never next nine no nobody none nor
not nothing now nowhere of off often ok on once one only onto or other others otherwise our ours ourselves out outside
over own per perhaps please quite rather same second seven several shall she should since six sixty so some somebody
someone something sometimes somewhere soon still such ten than thank thanks that the their theirs them themselves then
there therefore these they third this those though thousand three through throughout thus to today together tomorrow
tonight too toward towards twelve twenty twice two under unless until up upon us very via was we were what whatever when
whenever where whether which while who whole whom whose why will with within without would yes yesterday yet you your
yours yourself zero
hello welcome lookup checkout login logout signup setup payload timestamp metadata
monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october
november december
ate began began begun bought broke broken brought built came caught chose chosen done drawn drew driven drove eaten fell
fallen felt fed flew flown forgot forgotten found froze frozen gave given gone got gotten grew grown heard held hid
hidden kept knew known laid led left lent lost made meant met paid ran read rode rose said sang sat saw seen sent shook
shown shut slept sold sought spent split spoke spoken spread stole stood struck stuck swept sworn taken taught thought
threw thrown told took went woke won wore worn written wrote
true false null none string integer number boolean object array enum const json xml html http https url uri uuid api cpu
gpu ram ssd sql csv pdf utf ascii id ids ip tcp udp dns tls ssh ftp usb app web www com org net io ai ml os ui ux ci cd
pr qa db kv ttl rpc sdk cli stdin stdout stderr init args kwargs async await def func int float str bool dict list tuple
eur usd gbp jpy chf kg km cm mm ms ns gb mb kb tb hz khz ghz utc gmt est pst iso
"""

_NOUNS = """
access account action activity address admin adapter advantage advice agency agenda agent agreement aircraft airport
alarm album alert alias amount analysis anchor angle animal answer apartment apple area argument arm arrangement arrival
article artist aspect asset assistant atom attachment attempt attribute auction audience author authority average award
axis backup badge bag balance ball band bandwidth bank bar barrier base basis basket batch battery beach beam bean bear
bed bedroom belief bell belt bench benefit bicycle bike bill bin bird birthday bit blade blanket blood board boat body
bolt bond bone book border boss bottle bottom bowl box boy brain brake branch brand bread breakfast breath brick bridge
broker brother browser brush bucket budget buffer bug building bulb bundle burden bus business button buyer byte cabin
cabinet cable cache cake calculator calendar camera camp campaign candidate canvas capacity capital captain car carbon
card career cargo carpet carrier cart case cash castle category cause ceiling cell center century ceremony chain chair
challenge champion chance channel chapter character charity chart chef chicken child chip choice church circle circuit
citizen city claim class classroom clause click client climate clinic clock cloth cloud club cluster coach coal coast
coat code coffee coin collar colleague collection college color column combination comment commerce commission committee
community company comparison competitor component computer concept concern concert condition conference confidence
conflict connection consequence consumer contact container content contest context continent contract contrast
contribution conversation cook cookie copper copy core corn corner cost cottage cotton council counter country county
couple coupon courage course court cousin cover cow cream creature credential credit crew crisis criterion crop cross
crowd crown culture cup currency current cursor curtain curve customer cycle dad damage danger dashboard data database
date daughter day deadline deal dealer debate debt decade decision deck default defense degree delay delivery demand
department deposit depth deputy description desert design desk detail detective device diagram dialog diamond diary
diet difference difficulty dimension dinner direction director directory disaster discount discussion disease dish disk
display distance district doctor document dog dollar domain door dose draft drama drawer dream dress drink driver drum
duck dust duty ear earth east economy edge edition editor education effect effort egg election element elephant email
emergency emotion employee employer end endpoint enemy energy engine engineer entry envelope environment episode equity
error escape essay estate estimate evening event evidence exam example exception exchange excuse executive exercise exit
experience expert explanation expression extension extent eye face facility fact factor factory failure family fan farm
farmer fashion father fault feature fee feedback fence festival fever field figure file film filter finding finger fire
firm fish flag flame flavor flight floor flow flower fold folder food foot football force forecast forest fork form
format formula fortune forum foundation fountain frame freedom frequency friend fruit fuel function fund furniture
future gallery game gap garage garden garlic gas gate gateway gear gene generation gesture gift girl glass goal gold
golf government grade grain grandmother graph grass ground group growth guard guest guide guitar gun habit hair half
hall hammer hand handle harbor hardware hat head header heading health heart heat height help hero highway hill history
hobby hole holiday home honey hook horizon horse hospital host hotel hour house housing hub human humor hunter husband
ice icon idea identity image impact import impression incident income index industry inflation information ingredient
initiative injury input inquiry insect insight inspection instance instruction instrument insurance interest interface
internet interval interview invoice iron island issue item jacket job joint joke journal journey judge juice jury
justice key keyboard kid kilometer kind king kitchen knee knife knowledge label labor ladder lady lake lamp land
landscape language laptop latency law lawyer layer layout lead leader leaf league leather lecture ledger leg legend
lemon length lesson letter level library licence license life light limit line link lion lip liquid literature living
loan location lock log logic loop love luck lunch lung machine magazine magnet mail manner manual map margin mark market
marriage master match material math matrix matter maximum meal meaning measure meat mechanic medal media medicine
medium meeting member memory menu merchant message metal meter method metric midnight mile milk mind mineral minimum
minister minute mirror missile mission mistake mixture mobile mode model moment money monitor month mood moon morning
mortgage mother motion motor mountain mouse mouth movie muscle museum music name nation nature neck need neighbor nerve
network news night node noise north nose note notebook notice notion novel nurse nut oak object objective obligation
occasion ocean offer office officer offset oil opening opera operation operator opinion opportunity option orange orbit
order organ origin outcome outlet outline output oven owner oxygen pace pack package packet page pain paint pair palace
pan panel panic paper paragraph parameter parcel parent park part partner party passage passenger passion password past
patch path patience patient pattern pause payload payment peace peak pen penalty pencil pension people pepper percent
performance period permission permit person perspective phase phone photo phrase piano picture pie piece pig pile pilot
pin pipe pipeline pizza place plan plane planet plant plastic plate platform player plaza plot plug plugin pocket poem
poet point policy politics poll pool population port portion position possession possibility post pot potato pound power
practice prefix premium presence present president press pressure price pride priest principle print priority prison
privacy prize probability problem procedure process processor producer product profession professor profile profit
program progress project promise prompt proof property proposal protocol province pulse pump purchase purpose quality
quantity quarter queen query question queue quota quote rabbit race rack radio rail rain range rank rate ratio ray
reaction reader reality reason receipt recipe record recovery redundancy reference refund region register registry
regret relation release relief religion remark rent repair replica reply report republic request requirement research
reservation reserve resort resource response rest restaurant result retailer retry return revenue review revision reward
rhythm rice ride ring risk river road robot rock role roof room root rope rose round route router routine row rule
runbook runtime safety salad salary sale salt sample sand satellite sauce scale scene schedule schema scheme scholar
school science scope score screen script sea search season seat secret section sector security seed segment selection
self seller senate sender sense sensor sentence sequence series server service session setting shade shadow shape share
shareholder sheet shelf shell ship shipment shirt shock shoe shop shore shoulder show shower side sign signal signature
silence silver singer sink sister site situation size skill skin sky slice slot smoke snapshot snow society socket
software soil soldier solution son song sort soul sound soup source south space speaker species speech speed sport spot
spouse spring square staff stage stamp stand standard star start state statement station status steam steel step stick
stock stomach stone storage store storm story stranger strategy stream street strength stress string strip structure
student studio study stuff style subject substance suburb success sugar suggestion suit sum summary summer sun supply
support surface surgery surname surprise survey switch symbol symptom system table tag tail talent tank target task
taste tax taxi tea teacher team technique technology telephone temperature template tenant tension term terminal test
text theater theme theory thing thread threat throat ticket tide time timeout timer tip tire title toast token tongue
tool tooth top topic total touch tour tourist tower town toy trace track trade tradition traffic trail train transfer
transition transport travel treasure treaty tree trend trial trick trip trouble truck trust truth tube tune tunnel turn
type uncle union unit university update upgrade user vacation valley value valve variable variant variety vector vehicle
vendor venue version vessel victim victory video view village violence virus vision visitor voice volume vote voucher
wage wall wallet war warehouse warning waste watch water wave way weakness wealth weapon weather web wedding week weight
welcome west wheel wife wind window wine wing winner winter wire wisdom woman wood word work worker workflow workshop
world writer yard year yield youth zone
"""

_VERBS = """
accept achieve acquire act activate adapt add adjust admire adopt advance advise affect afford agree aim allocate allow
announce answer appear append apply appoint approach approve archive argue arrange arrive ask assert assess assign
assist assume assure attach attack attend attract authenticate avoid await balance base become behave believe belong
book borrow bounce breathe browse build burn calculate call cancel capture care carry cast cause change charge check
choose claim clean clear click climb close collect combine come command comment compare compile complain complete
compose compress compute concern conclude confirm connect consider consist construct consume contain continue contribute
convert convince copy correct count cover crash create cross cure decide declare decline decode decrease define delay
delete deliver demand deny depend deploy derive describe deserve design destroy detect determine develop differ
disable discover discuss display distribute divide document download drain draw dress drive earn eat edit emerge
emphasize employ enable encode encourage end enforce enhance enjoy ensure enter escalate establish estimate evaluate
examine exceed exchange exclude execute exist expand expect expire explain explore export express extend extract face
fail fall fasten fear feature feel fetch fight file fill filter find finish fix flash float flow flush fly focus fold
follow force forget forgive form format forward free freeze gain gather generate give grant grow guarantee guess guide
handle hang happen hate have hear help hesitate hide hire hold hope host hunt identify ignore illustrate imagine
implement imply import impose improve include increase index indicate infer inform inherit initialize insert inspect
inspire install intend interpret interrupt introduce invent invest investigate invite invoke issue iterate join judge
jump justify keep kick kill knock know label land last launch lead learn leave lend let lift limit link list listen load
locate lock look lose love maintain make manage mark match matter mean measure mention merge migrate miss mount move
multiply name need negotiate notice notify obey observe obtain occur offer open operate oppose order organize overcome
owe own pack park parse pass pause pay perform persuade pick place plant play point pour practice praise predict prefer
prepare present preserve press pretend prevent print process produce promise promote propose protect prove provide
publish pull punish purchase pursue push query queue quote raise rank reach react realize rebuild recall receive
recognize recommend reconcile record recover reduce refer reflect refresh refund refuse register reject relate relax
release rely remain remember remind remove rename renew repair repeat replace reply report represent request require
rescue reserve reset resist resolve respond restart restore restrict resume retain retire retrieve return reveal reverse
review revise ring rise roll rotate route rush sample satisfy save schedule score scream search secure seek seem select
sell send separate serve settle shake share shift shine ship shoot shout show sign simulate sing sink sleep slide smell
smile solve sort sound speak specify spell spend stand stare start state stay steal store stretch strike struggle submit
subscribe succeed suffer suggest summarize supply support suppose surround suspect suspend sustain swear switch sync
talk taste teach tear tell tend test think throw tie touch trace track trade train transform translate transmit travel
treat trigger trim trust try turn understand unlock update upload urge use validate vanish vary verify visit vote wait
wake walk want warn wash waste watch wear weigh wish wonder work worry write
"""

_DOUBLING_VERBS = """
admit ban beg begin chat clip commit control cut dig drag drop equip fit forbid get grab hit map nod occur omit permit
pin plan plug prefer program put quit refer regret rid rob run scan set ship shop shut sit skip slip snap spin split
spot stem step stir stop strip submit swap swim tag tap transfer trap trip unplug wrap win zip
"""

_ADJECTIVES = """
able absolute abstract academic acceptable accurate active actual acute additional adequate adjacent administrative
afraid aggressive alive alternative ancient angry annual anxious apparent appropriate artificial asleep atomic automatic
available average aware bad basic beautiful big bitter black blank blind blue bold brave brief bright brilliant broad
broken brown busy calm capable careful cautious central certain cheap chief civil classic clean clear clever cold
comfortable commercial common compact competitive complete complex comprehensive confident conscious consistent constant
content convenient cool corporate correct crazy creative critical crucial cruel cultural curious daily dark dead deaf
dear deep delicate dense dependent different difficult digital direct dirty distinct domestic double dramatic dry due
dull dynamic eager early eastern easy economic effective efficient elaborate electric elegant eligible empty enormous
entire equal essential eternal ethical evident evil exact excellent exclusive expensive explicit external extra extreme
fair faithful familiar famous fast fat favorite federal female final financial fine firm flat flexible foreign formal
former fortunate fragile free frequent fresh friendly front full fun funny general generous gentle genuine giant glad
global golden good gradual grand grateful grave gray great green gross guilty handsome happy hard harsh healthy heavy
helpful hidden high historic honest horizontal hot huge hungry ideal identical idle illegal immediate immense immune
implicit important impossible independent indirect individual industrial inevitable initial inner innocent intense
interactive internal international invalid invisible joint junior keen large late latest lazy legal level liberal light
likely linear liquid literal little live lively local logical long loose loud low loyal lucky mad magic main major male
manual marginal massive mature mean mechanical medical mental mere mild military minimal minor missing mixed modern
modest moral multiple mutual narrow nasty national native natural neat necessary negative nervous neutral new nice noble
normal northern notable nuclear numerous objective obvious odd offline official old online open opposite optical optimal
optional ordinary organic original outer overall parallel partial particular passive patient peculiar perfect permanent
personal physical pink plain pleasant plural polite political poor popular portable positive possible potential powerful
practical precious precise predictable pregnant previous primary prime prior private probable productive professional
profound prominent proper proud public pure purple quick quiet random rapid rare raw ready real reasonable recent red
redundant regional regular relative relevant reliable reluctant remarkable remote responsible retail rich rigid romantic
rough round royal rude rural sad safe secondary secret secure senior sensitive separate serial serious severe shallow
sharp short shy sick significant silent silly similar simple single slight slow small smart smooth social soft solar
solid sorry southern spare special specific spiritual stable stale standard steady steep sticky stiff straight strange
strict strong stupid subtle successful sudden sufficient suitable super superb sure sweet swift temporary tender
terrible thick thin tight tiny tired torn total tough toxic traditional tragic transparent tremendous tropical ugly
ultimate unable uncertain uniform unique universal unknown unlikely unusual upper upset urban urgent useful usual vague
vain valid valuable variable vast verbal vertical violent virtual visible visual vital vivid vulnerable warm weak
wealthy weekly weird well western wet white wide wild willing wise wonderful wooden wrong yellow young
"""

_VOWELS = "aeiou"


def stems() -> tuple[str, ...]:
    """The words that are listed above, once each."""
    return tuple(dict.fromkeys(" ".join((_PLAIN, _NOUNS, _VERBS, _DOUBLING_VERBS, _ADJECTIVES)).split()))


def word_forms() -> tuple[str, ...]:
    """Every stem and what grows from it, once each."""
    forms: dict[str, None] = dict.fromkeys(_PLAIN.split())
    for stem in _NOUNS.split():
        forms.update(dict.fromkeys((stem, _with_s(stem))))
    for stem in _VERBS.split():
        forms.update(dict.fromkeys((stem, _with_s(stem), *_past_and_progressive(stem))))
    for stem in _DOUBLING_VERBS.split():
        doubled = stem + stem[-1]
        forms.update(dict.fromkeys((stem, _with_s(stem), doubled + "ed", doubled + "ing")))
    for stem in _ADJECTIVES.split():
        forms.update(dict.fromkeys((stem, *_adverbs(stem))))
    return tuple(forms)


def _with_s(stem: str) -> str:
    if stem.endswith(("s", "x", "z", "ch", "sh")):
        return stem + "es"
    if stem.endswith("y") and stem[-2] not in _VOWELS:
        return stem[:-1] + "ies"
    return stem + "s"


def _past_and_progressive(stem: str) -> tuple[str, str]:
    if stem.endswith("ie"):
        return stem + "d", stem[:-2] + "ying"
    if stem.endswith("ee"):
        return stem + "d", stem + "ing"
    if stem.endswith("e"):
        return stem + "d", stem[:-1] + "ing"
    if stem.endswith("y") and stem[-2] not in _VOWELS:
        return stem[:-1] + "ied", stem + "ing"
    return stem + "ed", stem + "ing"


def _adverbs(stem: str) -> Iterator[str]:
    if stem.endswith("ic"):
        yield stem + "ally"
    elif stem.endswith("le"):
        yield stem[:-1] + "y"
    elif stem.endswith("y") and stem[-2] not in _VOWELS:
        yield stem[:-1] + "ily"
    elif not stem.endswith("ly"):
        yield stem + "ly"
