package policy

var (
	// bare are verbs as an order has them; what begins with one tells to do it.
	bare = set(
		`buy purchase acquire grab get sell swap trade exchange convert rotate move shift send transfer put place allocate deploy invest deposit lend supply stake restake bridge hold hodl
		long short pour sink throw dump add accumulate load pile park spend pay bid wager bet farm mint snipe open take enter go keep own use provide flip chase scoop roll funnel route fill hedge commit
		concentrate sweep plough plow wire borrow lever leverage loop set let accept allow tolerate raise run crank push stretch widen size grow scale approve grant sign authorize authorise permit give share write hide
		export post publish paste upload email mail show reveal tell hand disable mute silence turn switch shut ignore remove delete unplug kill suspend deactivate disarm bypass ape stuff tip slip feed
		make fold double triple max dial tune bump lift ride follow repeat split spread leave drop lay lock tie dip try bring pick bag stack empty drain cash weight tilt lean steer point aim risk stretch
		pledge mortgage exit withdraw launder wash mix tumble conceal mask obscure store save print type recite whisper speak spell encode embed copy forward disclose leak snooze pause
		cancel skip override suppress kaufe kauf verkaufe tausche setze setz stecke nimm nehmen lege leihe hebel achete achetez vends investis mets compra compre vende invierte pon mete usa купи продай вложи`)
	// acts are verbs of doing in all their forms.
	acts = lexicon(
		`buy | buys | buying | bought | purchas* | acquir* | grab* | sell | sells | selling | sold | swap* | trade | trades | trading | traded | exchange for | exchanging | convert* | rotat* | move | moves | moving | moved | shift* |
		send | sends | sending | sent | transfer* | put | puts | putting | place | places | placing | placed | allocat* | deploy* | invest | invests | investing | invested | deposit* | lend | lends | lending | lent | supply | supplies | supplying | supplied |
		stake | stakes | staking | restak* | bridge | bridging | bridged | hold | holds | holding | held | hodl* | long | longing | shorting | pour* | sink | sinks | sinking | sank | throw* | dump* | add | adds | adding | added | accumulat* | load up | loading up |
		pile | piles | piling | park | parks | parking | spend | spends | spending | spent | pay | pays | bid | bidding | wager* | bet | bets | betting | farm | farms | farming | mint | mints | minting | snip* | open | opens | opening | take | takes | taking | took | enter | entering |
		use | uses | using | used | provid* | flip | flips | flipping | chase | chases | chasing | scoop* | roll into | funnel* | route | routing | routes | fill our | hedg* | commit | commits | committing | concentrat* | sweep | sweeping | plough* | plow* | wire | wires | wiring | go | goes | going | went |
		ape | aping | apes | aped | stuff | keep | keeps | lock | lever | borrow | borrows | borrowing | borrowed | own | owns | owning | owned | belong* | divert* | commit* | stack | stacks | stacking | ride | riding | pledge | pledging | risk | risking | set | let | accept | turn | switch | sign | approve | share |
		kauf* | verkauf* | tausch* | steck* | setz* | investier* | nimm | nehmen | leih* | achet* | vend* | mett* | mets | investi* | compr* | vender | invert* | invierte* | pon | poner | meter | mete | cambia* | купи* | продай* | вложи*`)
	// holdings are nouns of having: what stands behind their of or in is held.
	holdings = lexicon(
		`bag of | bags of | basket of | position in | positions in | stake in | exposure to | exposed to | allocation to | allocation of | order for | order of | orders of | bid for | bid on | bids on | bet on | punt on | sleeve of | slice of | sliver of | pinch of | dash of | crumb of |
		handful of | dab of | helping of | dose of | touch of | mountain of | hoard of | stash of | stack of | pile of | chest of | pocketful of | fistful of | spot of | tranche of | lot of | lump of | lump into | clip of | some | a little | a bit of | a few | investment in | purchase of | play on | trade in | switch to | switch into | flight into | move into | rotation into | trip into | leg in | position of | love for | liquidity to | liquidity for | pair with | paired with | swap for | swap into`)
	// venues are where assets are put.
	venues = lexicon(
		`pool | pools | vault | vaults | farm | farms | lp | protocol | protocols | contract | contracts | basket | coin | coins | token | tokens | yield | perp* | stablecoin* | bridge | exchange | chain | validator* | loop | asset | assets | bet | trade | position | market | markets | name | one place | single place | staking | lending | restaking | defi | dex`)
)
