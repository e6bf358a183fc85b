package policy

import (
	"maps"
	"slices"
)

// Guard is a built-in rule about what no dream should lead to.
type Guard string

// The guards.
const (
	Secrets   Guard = "secrets"   // giving away keys, recovery phrases or passwords
	Alarms    Guard = "alarms"    // silencing alarms, stop-losses and watchdogs
	Approvals Guard = "approvals" // approvals without limit, and signing what nobody has read
	Mixers    Guard = "mixers"    // hiding where money came from
	Limits    Guard = "limits"    // lifting the agent's own limits and rules
)

// Guards are all of them, by name. They apply unless a configuration removes them: each bars what harms the operator of
// an agent, whatever the agent is for.
//
//workflowcheck:ignore
func Guards() []Guard { return slices.Sorted(maps.Keys(guards)) }

// Says is the guard's explanation for a barred text.
func (g Guard) Says() string { return guards[g].what }

var guards = map[Guard]struct {
	what string
	find func(s sentence) []span
}{
	Secrets:   {"it gives away a secret", secrets},
	Alarms:    {"it silences an alarm or a safeguard", alarms},
	Approvals: {"it approves or signs without limit", approvals},
	Mixers:    {"it hides where money came from", mixers},
	Limits:    {"it lifts a limit or a rule of the agent", limits},
}

// secrets finds a secret thing that is given to somebody or written where it can be read.
func secrets(s sentence) []span {
	var found []span
	for i := s.from; i < s.to; i++ {
		n := s.length(secretThings, i)
		if n == 0 || s.is(i, "twelve 12 twenty 24") && !s.is(i-1, "our the those these its my your wallet all secret") {
			continue
		}
		if where, ok := revealed(s, span{i, i + n}); ok {
			found = append(found, where)
		}
		i += n - 1
	}
	return found
}

// revealed says how a secret is made readable, if it is. What keeps it safe is looked for from the verb on.
func revealed(s sentence, secret span) (span, bool) {
	from, to := secret.from-12, secret.to+10
	safe := s.between(custody, secret.from, to)
	if give, ok := s.find(giving, from, secret.from); ok && !s.between(custody, give.from, to) {
		return give.with(secret), true
	}
	if stow, ok := s.find(stowing, from, secret.from); ok && s.between(openly, secret.from, to) &&
		!s.between(custody, stow.from, to) {
		return stow.with(secret), true
	}
	if give, ok := s.find(giving, secret.to, to); ok && !safe && !s.between(negators, secret.to, give.from) &&
		(s.between(passive, secret.to, give.from) || s.between(openly, give.to, to)) {
		return secret.with(give), true
	}
	if in, ok := s.find(intoOpen, secret.to, to); ok && !safe &&
		(s.after(openly, in.to, 5) || s.between(placing, secret.to, in.to)) {
		return secret.with(in), true
	}
	return span{secret.from - 1, secret.to},
		s.before(letting, secret.from, 6) && !s.later(custody, secret.from) && !s.between(tending, secret.from, to)
}

// alarms finds what silences a safeguard.
func alarms(s sentence) []span {
	var found []span
	for i := s.from; i < s.to; i++ {
		if n := s.length(noAlarm, i); n > 0 {
			i += n - 1
			continue
		}
		n := s.length(alarming, i)
		if n == 0 && s.is(i, "stop threshold thresholds trigger") {
			set, ok := s.find(thresholds, s.from, i)
			if never, rings := s.find(neverRings, i, s.to); ok && rings {
				found = append(found, set.with(never))
			}
		}
		if n == 0 || s.is(i, "stops") && !s.is(i-1, "our the all those every trailing hard its no") {
			continue
		}
		if where, ok := silenced(s, span{i, i + n}); ok {
			found = append(found, where)
		}
		i += n - 1
	}
	return found
}

// silenced says how a safeguard is made ineffective, if it is.
func silenced(s sentence, alarm span) (span, bool) {
	from := clauseOfVerb(s, alarm.from)
	if verb, ok := s.find(silencing, from, alarm.from); ok {
		return verb.with(alarm), true
	}
	for at := alarm.from - 3; at < alarm.from; at++ {
		if n := s.length(lackingAlarm, at); n > 0 && at+n >= alarm.from-1 {
			return span{at, alarm.to}, !s.is(at, "no") || !idle(s, alarm)
		}
	}
	off, ok := s.find(offWords, alarm.to, alarm.to+3)
	if ok && (s.between(keeping, from, alarm.from) || s.between(passive, alarm.to, off.from)) {
		return alarm.with(off), true
	}
	if away, ok := s.find(awayWords, alarm.to, alarm.to+4); ok && s.between(movers, from, alarm.from) {
		return away.with(span{max(from, alarm.from-3), alarm.to}), true
	}
	verb, ok := s.find(silencing, alarm.to, alarm.to+6)
	if ok && s.between(passive, alarm.to, verb.from+1) && !s.between(negators, alarm.to, verb.from) {
		return alarm.with(verb), true
	}
	if shut, ok := s.find(shutting, from, alarm.from); ok && s.is(alarm.to, "up") {
		return span{shut.from, alarm.to + 1}, true
	}
	set, ok := s.find(thresholds, from, alarm.from)
	never, rings := s.find(neverRings, alarm.from, alarm.to+12)
	return set.with(never), ok && rings
}

// clauseOfVerb is where the clause begins in which the verb before a safeguard stands.
func clauseOfVerb(s sentence, alarm int) int {
	from := max(s.from, alarm-7)
	for at := alarm - 1; at >= from; at-- {
		verb := !s.at(silencing, at) && (s.among(at, bare) || s.among(at, calm))
		if s.among(at, hardJoints) || s.among(at, subords) || verb && s.is(at-1, ", and") {
			return at + 1
		}
	}
	return from
}

// idle says whether nothing is done without the alarm: no alarm rang.
func idle(s sentence, alarm span) bool {
	return !s.has(acts) || alarm.to < s.to && pastly(s.in[alarm.to]) ||
		s.is(alarm.to, "rang was came sounded is has rings")
}

// approvals finds approvals without a bound, and what is signed unread.
func approvals(s sentence) []span {
	if all, ok := s.first(wholeSale); ok {
		return []span{all}
	}
	for _, read := range []func(s sentence, i int) (span, bool){spendsAll, boundlessAllowance, boundlessVerb} {
		for i := s.from; i < s.to; i++ {
			if where, ok := read(s, i); ok {
				return []span{where}
			}
		}
	}
	if sign, ok := s.first(signing); ok && s.begins(sign.from) {
		if what, ok := s.find(blindly, sign.to, s.to); ok {
			return []span{sign.with(what)}
		}
	}
	return nil
}

// spendsAll reads the largest number there is, and somebody who may spend everything.
func spendsAll(s sentence, i int) (span, bool) {
	largest := s.is(i, "2") && s.is(i+1, "* ^") && s.any("256", i+2, i+4)
	all := s.at(spending, i) && !s.is(i, "use") && s.is(i+1, "all any every everything whatever") && s.earlier(spenders, i)
	return span{i, min(s.to, i+3)}, (largest || all) && s.has(approving)
}

// boundlessAllowance reads an adjective without a bound together with what is allowed.
func boundlessAllowance(s sentence, i int) (span, bool) {
	n := s.length(endless, i)
	if n == 0 {
		return span{}, false
	}
	end := i + n
	for at := end; at < end+3; at++ {
		if m := s.length(allowances, at); m > 0 && allowed(s, at+m, i) {
			return span{i, at + m}, true
		}
	}
	verb, ok := s.find(approving, i-3, i)
	if ok && (s.asset(end, end+1) || s.is(end, "token tokens coins funds")) {
		return span{verb.from, end + 1}, true
	}
	if s.at(allowances, i-1) && !s.is(i, "max full total complete permanent perpetual") { // allowance unlimited
		return span{i - 1, end}, true
	}
	verb, ok = s.find(approving, i-8, i)
	return span{verb.from, end}, ok && s.is(i-1, "to is as be for at")
}

// boundlessVerb reads a verb of allowing or signing together with what takes the bound off it.
func boundlessVerb(s sentence, i int) (span, bool) {
	n := s.length(approving, i)
	if n == 0 {
		return span{}, false
	}
	verb := span{i, i + n}
	common := s.is(i, "give gives giving let lets letting allow allows sign signs signing")
	if all, ok := s.find(withoutEnd, verb.to, verb.to+11); ok &&
		(!common || s.later(spenders, i) && (s.later(spending, i) || s.later(allowances, i))) {
		return verb.with(all), true
	}
	if m := s.length(signing, i); m > 0 {
		what, ok := s.find(blindly, i+m, i+m+8)
		return verb.with(what), ok
	}
	return span{}, false
}

// allowed says whether what has no end is an allowance to somebody: a word of approving, or somebody who may spend.
func allowed(s sentence, end, i int) bool {
	if s.is(i, "full complete total permanent perpetual max maximum") && !s.has(spenders) &&
		!s.is(end-1, "approval approvals allowance allowances") {
		return false
	}
	return !s.is(end-1, "amount amounts sum access control rights permission permissions") ||
		s.earlier(approving, i) || s.later(spenders, end)
}

// mixers finds ways to hide where money came from.
func mixers(s sentence) []span {
	if name, ok := s.first(mixing); ok {
		return []span{name}
	}
	if s.has(kitchen) {
		return nil
	}
	if verb, ok := s.first(laundering); ok && !s.has(linen) {
		return []span{verb}
	}
	money := s.has(coins)
	if mixer, ok := s.first(mixerWords); ok &&
		(money || s.has(trails) || s.before(through, mixer.from, 4) && s.earlier(sending, mixer.from)) {
		return []span{mixer}
	}
	if verb, ok := s.first(hidings); ok && money {
		if trail, ok := s.find(trails, verb.to, verb.to+7); ok {
			return []span{verb.with(trail)}
		}
	}
	if verb, ok := s.first(wash); ok && !s.is(verb.from, "clean cleans rinse scrub") {
		if coin, ok := s.find(coins, verb.to, verb.to+4); ok {
			return []span{verb.with(coin)}
		}
	}
	return nil
}

// limits finds what lifts the agent's own limits.
func limits(s sentence) []span {
	for i := s.from; i < s.to; i++ {
		n := s.length(ruleThings, i)
		if n == 0 {
			continue
		}
		from := max(s.from, i-6)
		for at := from; at < i; at++ {
			if s.among(at, hardJoints) {
				from = at + 1
			}
		}
		if verb, ok := s.find(lifting, from, i); ok {
			return []span{verb.with(span{i, i + n})}
		}
	}
	return nil
}
