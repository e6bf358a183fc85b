package formats

import (
	"regexp"
	"strings"
)

var heading = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*#*$`)

// dayFirst says whether a file writes 13/5/2024 anywhere.
func dayFirst(rows []string) bool {
	for _, row := range rows {
		s, _ := stripMarkup(row)
		if m := dateForms[4].shape.FindStringSubmatch(s); m != nil && len(m[1]) == 2 && m[1] > "12" {
			return true
		}
	}
	return false
}

// stripMarkup removes the markup of a heading: #, **, [[ ]], "Date:".
func stripMarkup(row string) (text string, dressed bool) {
	s := strings.TrimSpace(row)
	if m := heading.FindStringSubmatch(s); m != nil {
		s, dressed = m[2], true
	}
	for _, mark := range []string{"**", "__", "*", "_"} {
		if len(s) > 2*len(mark) && strings.HasPrefix(s, mark) && strings.HasSuffix(s, mark) &&
			!strings.Contains(s[len(mark):len(s)-len(mark)], mark) {
			s, dressed = s[len(mark):len(s)-len(mark)], true
			break
		}
	}
	for _, pair := range [][2]string{{"[[", "]]"}, {"[", "]"}} {
		if strings.HasPrefix(s, pair[0]) && strings.Contains(s, pair[1]) {
			s = strings.Replace(s[len(pair[0]):], pair[1], "", 1)
			break
		}
	}
	for _, label := range []string{"date:", "dated:"} {
		if len(s) > len(label) && strings.EqualFold(s[:len(label)], label) {
			s, dressed = s[len(label):], true
		}
	}
	return strings.Trim(s, ` "'`), dressed
}
