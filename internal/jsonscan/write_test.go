package jsonscan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWriterWritesEveryKindOfMember(t *testing.T) {
	t.Parallel()
	var w Writer
	w.Begin()
	w.Text("text", "a \"word\"")
	w.Number("number", -3)
	w.Flag("flag", true)
	w.Raw("raw", []byte(`[1,2]`))
	w.Null("null")
	w.Object("object")
	w.Object("empty")
	w.End()
	w.Text("last", "")
	w.End()
	w.List("none", 0, nil)
	w.List("list", 2, func(i int) {
		w.Begin()
		w.Number("i", int64(i))
		w.End()
	})
	w.End()
	require.Equal(t, `{"text":"a \"word\"","number":-3,"flag":true,"raw":[1,2],"null":null,`+
		`"object":{"empty":{},"last":""},"none":[],"list":[{"i":0},{"i":1}]}`, string(w.Buf))
}
