package minilm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The expected numbers are those of the model's authors' weights in single precision, run by ONNX Runtime 1.30.
func TestTheRealModelSaysWhatItsReferenceSays(t *testing.T) {
	t.Parallel()
	m := realModel(t)
	require.Equal(t, 384, m.Width())
	var vectors [][]float32
	for _, c := range []struct {
		text string
		want []float32
	}{
		{
			"A lighthouse keeper counts the ships that pass at night.",
			[]float32{0.03418, 0.04015, -0.03963, 0.10540, -0.04557, -0.01256, 0.05379, -0.03860},
		},
		{
			"Café naïve: 3.5 % of the users’ 日本 tokens, un-affable!",
			[]float32{0.00745, -0.00689, 0.05207, 0.00525, 0.06105, -0.01012, 0.12507, -0.01925},
		},
		{
			"Anna gets a rash from penicillin.",
			[]float32{-0.06630, 0.03400, 0.04521, 0.03941, 0.03010, -0.04437, 0.09931, 0.11305},
		},
		{
			"Which antibiotic causes an allergic reaction?",
			[]float32{0.00846, -0.01908, 0.02805, -0.01113, 0.07598, -0.01968, 0.02625, 0.16707},
		},
	} {
		v, _ := m.Embed(c.text)
		require.InDeltaSlice(t, c.want, v[:len(c.want)], .0005, c.text)
		vectors = append(vectors, v)
	}
	for i, row := range [][]float64{
		{1.00000, 0.08753, 0.01768, 0.02193},
		{0.08753, 1.00000, 0.04690, -0.04905},
		{0.01768, 0.04690, 1.00000, 0.51277},
		{0.02193, -0.04905, 0.51277, 1.00000},
	} {
		for j, want := range row {
			sum := 0.0
			for k, x := range vectors[i] {
				sum += float64(x) * float64(vectors[j][k])
			}
			require.InDelta(t, want, sum, .0005, "%d and %d", i, j)
		}
	}
}

// The expected numbers are those of gte-small's weights in single precision, run by ONNX Runtime 1.30: another encoder
// of the same architecture, with twice the layers.
func TestGTESmallSaysWhatItsReferenceSays(t *testing.T) {
	t.Parallel()
	m := encoderIn(t, "ONEIROS_TEST_GTE")
	require.Equal(t, 384, m.Width())
	for _, c := range []struct {
		text string
		want []float32
	}{
		{
			"A lighthouse keeper counts the ships that pass at night.",
			[]float32{-0.00726, -0.01095, 0.03193, -0.03469, 0.02006, 0.02271},
		},
		{"Anna gets a rash from penicillin.", []float32{-0.02439, -0.00901, 0.03893, -0.0201, 0.04416, 0.03888}},
		{
			"Which antibiotic causes an allergic reaction?",
			[]float32{-0.03959, 0.04168, 0.01921, 0.03112, 0.02278, -0.02617},
		},
	} {
		v, _ := m.Embed(c.text)
		require.InDeltaSlice(t, c.want, v[:len(c.want)], .0005, c.text)
	}
}
