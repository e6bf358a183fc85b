package exchange

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzARefusedKeyIsToldInTheShapeOfAnError(f *testing.F) {
	for _, body := range []string{
		"", "null", "[]", "{}", "go away", `{"error":null}`, `{"error":[]}`, `{"error":"no"}`, `{"error":{}}`,
		`{"error":{"message":7,"code":401}}`, `{"error":{"message":"No.","inner":{"a":1}},"id":12345678901234567890}`,
		`{"error":{"message":"a","message":"b"},"error":{"message":"c"}}`, "{\"error\":{\"message\":\"\xff\"}}",
		`{"detail":"Not authenticated"`, `{"Error":{"Message":"x"}}`, `{"errOr":[]}`, `{"error":{"meſſage":7}}`,
	} {
		f.Add(body)
	}
	c := &Client{name: "p"}
	f.Fuzz(func(t *testing.T, body string) {
		out := c.explainRefusal(http.StatusUnauthorized)([]byte(body))
		var answer struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		require.NoError(t, json.Unmarshal(out, &answer), "%q", out)
		require.True(t,
			strings.HasPrefix(answer.Error.Message,
				`provider "p" refused this server, and not the key that you sent`), answer.Error.Message)
		require.LessOrEqual(t, len([]rune(answer.Error.Message)), messageLimit+200)
	})
}
