package remote

import "encoding/json"

// isOneiros recognizes the description of an Oneiros server.
func isOneiros(description []byte) bool {
	var d struct {
		Info struct {
			Title string `json:"title"`
		} `json:"info"`
	}
	return json.Unmarshal(description, &d) == nil && d.Info.Title == "Oneiros"
}
