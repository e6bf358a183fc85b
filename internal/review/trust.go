package review

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/access"
)

// isEvidence says whether an episode may decide a prediction: a person or a tool gave it, no dream made it, and the
// deployment trusts whose words it holds.
func (k Resolver) isEvidence(e *dream.Episode) bool {
	return e.State == dream.Live && !e.Dreamt() && (e.Taint == dream.FromHuman || e.Taint == dream.FromTool) &&
		isTrusted(k.Rules.Trust, e)
}

// isTrusted says whether all words of an episode are those of trusted names. Without names everything is trusted: what
// was said with a key, without one on the machine itself, and what was imported. A talk is trusted by its principal, or
// by principal/user; what was imported by each speaker that it names, and always where it names none, as a diary.
func isTrusted(names []string, e *dream.Episode) bool {
	if len(names) == 0 {
		return true
	}
	if owner, ofTalk := strings.CutPrefix(e.Origin, dream.TalkOrigin); ofTalk {
		principal, user, _ := strings.Cut(owner, "/")
		principal = cmp.Or(principal, access.Local)
		return slices.Contains(names, principal) || user != "" && slices.Contains(names, principal+"/"+user)
	}
	if e.Speaker == "" {
		return true
	}
	if !slices.Contains(names, e.Speaker) {
		return false
	}
	for _, m := range spokenBy.FindAllStringSubmatch(e.Content, -1) {
		if !slices.Contains(names, m[1]) {
			return false
		}
	}
	return true
}

// spokenBy is the name of a speaker before what they said, as the importer writes it at the beginning of a line.
var spokenBy = regexp.MustCompile(`(?m)^([^:\n]{1,80}): `)

// ValidateTrust returns what is wrong with the names of PredictionRules.Trust.
func ValidateTrust(names []string) error {
	for _, name := range names {
		principal, user, named := strings.Cut(name, "/")
		if principal == "" || named && user == "" {
			return fmt.Errorf("%q names nobody; a name is a principal such as anna, a user of one such as app/anna, %s for "+
				"requests without a key, or a speaker of an imported conversation", name, access.Local)
		}
	}
	return nil
}
