package config

import "github.com/seed-56a03226/oneiros/internal/policy"

// policyKnobs are the simple rules; the user's own rules are in sections of the file (readPolicy).
func policyKnobs() []Knob {
	return []Knob{
		{
			Key: "policy.assets", Sort: Text, Default: "", Unit: "tickers",
			Reason: "The assets that a dream may think of holding, with commas between: \"ETH, WETH, USDC\". Empty: any, since an agent that trades nothing needs no list.",
		},
		{
			Key:     "policy.leverage",
			Sort:    Number,
			Default: 0.0,
			High:    1000,
			Unit:    "times",
			Reason:  "Most leverage: 3 is 3x. At 0 there is no cap: only the operator of an agent knows what it may risk.",
		},
		{
			Key:     "policy.position",
			Sort:    Number,
			Default: 0.0,
			High:    1,
			Unit:    "share",
			Reason:  "Largest share of the portfolio in one place: 0.2 is a fifth. At 0 there is no cap.",
		},
		{
			Key:       "policy.amount",
			Sort:      Dollars,
			Default:   "unlimited",
			Unit:      "USD",
			Unlimited: true,
			Reason:    "Largest single trade. Amounts of coins count with what they were worth at the least (docs/policy.md).",
		},
		{
			Key:     "policy.slippage",
			Sort:    Number,
			Default: 0.0,
			High:    1,
			Unit:    "share",
			Reason:  "Most slippage: 0.01 is 1 %. At 0 there is no cap.",
		},
		{
			Key: "policy.guards", Sort: Text, Default: allGuards, Unit: "names",
			Reason: "The built-in rules that hold: all, none, or names with commas between (secrets, alarms, approvals, mixers, limits). All by default: giving away secrets, silencing alarms, approvals without limit, hiding where money came from and lifting one's own limits harm the operator of any agent.",
		},
		{
			Key: "policy.unclear", Sort: Choice, Default: string(policy.Flag),
			Choices: []string{string(policy.Flag), string(policy.Bar)},
			Reason:  "What becomes of a fragment that the observer could not judge by the rules in words. flag: it is marked to be looked at, and developed, since a model that cannot judge would otherwise leave every night empty, and nothing that a dream makes is acted on. bar: it is not developed.",
		},
	}
}
