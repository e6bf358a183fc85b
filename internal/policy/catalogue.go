package policy

import "strings"

// asset is something that can be held.
type asset struct {
	ticker string
	plain  bool // its name is a word of everyday speech as well: near, link, dot
}

// assetNames finds an asset by any of its names, in lower case. Names of several words stand with a space.
var assetNames = catalogue(`
BTC bitcoin bitcoins xbt sats satoshi satoshis
WBTC wrappedbitcoin
ETH ether ethereum ethers eths
WETH wrappedether
STETH stakedether lidoether
USDC
USDT tether
DAI
SDAI
USDS
USDE ethena
FRAX
TUSD
LUSD
GUSD
PYUSD
BUSD
UST terrausd
USTC
LUNA
RETH
CBETH
WSTETH
FRXETH
EETH
WEETH
CBBTC
TBTC
RENBTC
SOL solana solanas
JITOSOL
PEPE pepecoin
DOGE dogecoin dogecoins dogecoin doges
SHIB shibainu shiba shib
FLOKI
BONK
WIF dogwifhat
BRETT
MOG
TURBO
MEME
ADA cardano
XRP ripple
DOT polkadot
AVAX
LINK chainlink
MATIC
POL
ARB arbitrum
OP
BNB
LTC litecoin litecoins
BCH bitcoincash
XMR monero
ZEC zcash
DASH
TRX tron
TON toncoin
NEAR
ATOM
ALGO algorand
ICP
FIL filecoin
HBAR hedera
APT aptos
SUI
SEI
TIA celestia
INJ
FTM fantom
UNI uniswap
SUSHI sushiswap
CAKE pancakeswap
AAVE
COMP
MKR
CRV
CVX
LDO lido
RPL
SNX
YFI
BAL
GRT
ENS
APE apecoin
SAND
MANA decentraland
AXS
GALA
IMX
BLUR
GMX
DYDX
PENDLE
EIGEN
ENA
JUP
PYTH
RUNE thorchain
KAS kaspa
XLM stellar
XTZ tezos
EOS
VET vechain
NEO
QTUM
IOTA
THETA
STX
ORDI
WLD worldcoin
FET
RNDR
TAO
HYPE
TRUMP
SAFEMOON
SQUID
FTT
CRO
OKB
GOLD
SILVER
XAU
PAXG
TSLA tesla
NVDA nvidia
AAPL
GME gamestop
`)

// phrased are the names of several words.
var phrased = map[string]string{
	"wrapped bitcoin": "WBTC", "wrapped btc": "WBTC", "wrapped ether": "WETH", "wrapped eth": "WETH",
	"wrapped ethereum": "WETH", "staked ether": "STETH", "staked eth": "STETH",
	"lido ether": "STETH", "lido staked": "STETH", "shiba inu": "SHIB", "bitcoin cash": "BCH", "bitcoin sv": "BSV",
	"ethereum classic": "ETC", "dog wif": "WIF", "rocket pool": "RPL", "doge coin": "DOGE",
}

// LeastWorth is what one of an asset was worth at the least, in dollars, all through 2024 and 2025, cut down to one
// figure: with it an amount that is certainly above a cap is known without a price.
var LeastWorth = map[string]float64{
	"USDC": 1, "DAI": 1, "USDT": 1, "USDS": 1, "SDAI": 1, "FRAX": 1, "TUSD": 1, "LUSD": 1, "PYUSD": 1, "USDE": 1,
	"BUSD": 1, "GUSD": 1,
	"BTC": 30_000, "WBTC": 30_000, "TBTC": 30_000, "CBBTC": 30_000, "ETH": 1_000, "WETH": 1_000, "STETH": 1_000,
	"WSTETH": 1_000, "RETH": 1_000, "CBETH": 1_000,
}

func catalogue(text string) map[string]asset {
	table := map[string]asset{}
	for line := range strings.Lines(text) {
		names := strings.Fields(line)
		for _, name := range names {
			name = strings.ToLower(name)
			table[name] = asset{ticker: names[0], plain: everyday[name]}
		}
	}
	return table
}

// canonical is the ticker of an asset as a configuration may name it; empty when it cannot be one.
func canonical(name string) string {
	folded := strings.ToLower(strings.Join(strings.Fields(name), ""))
	if a, ok := assetNames[folded]; ok {
		return a.ticker
	}
	if folded == "" || strings.Trim(folded, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
		return ""
	}
	return strings.ToUpper(folded)
}

// assetAt is the asset that is named at a token, and how many tokens its name takes; 0 for none.
func assetAt(in []token, i int) (asset, int) {
	if i >= len(in) || in[i].sort != word {
		return asset{}, 0
	}
	if i+1 < len(in) && in[i+1].sort == word {
		if ticker, ok := phrased[in[i].text+" "+in[i+1].text]; ok {
			return asset{ticker: ticker}, 2
		}
	}
	a, ok := assetNames[in[i].text]
	if !ok {
		return asset{}, 0
	}
	return a, 1
}

// sure says whether what is named at a token is an asset wherever it stands: a name that is no everyday word, or a
// ticker.
func (a asset) sure(in []token, i int) bool {
	return !a.plain || in[i].caps || i > 0 && in[i-1].text == "$"
}

// hasAsset says whether an asset is named in a stretch of tokens.
func hasAsset(in []token, from, to int) bool {
	for i := from; i < to; i++ {
		if a, n := assetAt(in, i); n > 0 && a.sure(in, i) {
			return true
		}
	}
	return false
}
