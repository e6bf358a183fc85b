package main

import (
	"regexp"
	"strings"
)

// privateNames are words that no identifier may hold, each with the standard one. A word counts as a whole part of a name:
// "knock" is found in knockAll and byKnock, not in knockout.
var privateNames = map[string]string{
	"deed": "activity", "deeds": "activities",
	"sitting": "stretch", "sittings": "stretches",
	"knock": "connect", "knocks": "connections",
	"visitor": "client", "visitors": "clients", "guest": "client", "guests": "clients",
	"belfry": "socket folder", "tower": "dispatcher", "bell": "wake bus", "bells": "wake bus",
	"rouser": "in-flight registry",
	"vigil":  "presence row", "errand": "queued write", "errands": "queued writes", "hurry": "urgent",
	"tide": "vector revision", "crate": "batch", "unload": "flush",
	"heat": "temperature", "heats": "temperatures",
	"salon": "API server", "wish": "request", "wishes": "requests",
	"purse": "spend guard", "purses": "spend guards",
	"bury": "reap", "whoever": "client or caller",
}

// participles are bad whole names. Inside a longer name they may be ordinary English.
var participles = map[string]string{
	"told": "result", "said": "response", "heard": "received", "asked": "request",
	"known": "existing", "gone": "removed", "met": "seen", "owed": "due", "hears": "listener", "feels": "affect",
	"keeper": "worker", "lots": "say the thing", "stirs": "say the thing",
	"standing": "status", "life": "agent state", "house": "deployment", "door": "app", "order": "spec, or order of what",
	"rang": "notified", "shelf": "run cache", "volume": "cached run", "desk": "toolset", "till": "ledger queue",
}

// privateProse are words that no comment, message or page may hold.
var privateProse = regexp.MustCompile(`(?i)\b(deeds?|sittings?|knock(s|ed|ing)?|belfry|rousers?|vigils?|errands?|salons?|purses?|` +
	`lie(s)? down|lay down|lain down|whoever|somebody knocks)\b`)

// codes point at papers that are not in the repository. S3 is a storage service. H1 to H8 are stages of Hori next to the
// word stage or that name, and in files about the depth of a dream.
var codes = regexp.MustCompile(`\b(S[0-24]|H(?:[1-9]|[12][0-9]|3[0-9])|Z(?:[0-9]|1[0-9])|W[1-9]|E(?:[1-9])|P[1-9])\b`)

var hori = regexp.MustCompile(`\bH[1-8]\b`)

var stages = regexp.MustCompile(`(?i)\bstages? H[1-9]( (to|and|through) H[1-9])?|\bH[1-9](-| to |\.\.)H?[1-9]|Hori[^.]{0,80}|` +
	`[^.]{0,80}\bHori\b|[A-Z]-Z0`)

// nameParts splits an identifier where its case changes, in lower case.
func nameParts(name string) []string {
	var parts []string
	start := 0
	runes := []rune(name)
	for i := 1; i < len(runes); i++ {
		upper := isUpper(runes[i])
		if upper && (!isUpper(runes[i-1]) || i+1 < len(runes) && !isUpper(runes[i+1])) {
			parts = append(parts, strings.ToLower(string(runes[start:i])))
			start = i
		}
	}
	return append(parts, strings.ToLower(string(runes[start:])))
}

func isUpper(r rune) bool { return 'A' <= r && r <= 'Z' }

// privateName is the private word in a name, and the better one; both empty when there is none.
func privateName(name string) (word, better string) {
	if better, bad := participles[strings.ToLower(name)]; bad {
		return name, better
	}
	for _, part := range nameParts(name) {
		if better, bad := privateNames[part]; bad {
			return part, better
		}
	}
	return "", ""
}
