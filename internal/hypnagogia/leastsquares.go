package hypnagogia

import "math"

// ridge keeps the normal equations of correlated features solvable; it is far below the noise of outcomes.
const ridge = 1e-6

// leastSquares fits y by weights of the features of each row. It returns the weights, the squared rest of y, and the
// number of effective features: one that is constant in all rows gets weight 0, except the first, which is the
// intercept.
func leastSquares(rows [][]float64, y []float64) (weights []float64, rest float64, free int) {
	if len(rows) == 0 {
		return nil, 0, 0
	}
	var used []int
	for j := range rows[0] {
		if j == 0 || varies(rows, j) {
			used = append(used, j)
		}
	}
	n := len(used)
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n+1)
		for k, row := range rows {
			for j := range used {
				a[i][j] += row[used[i]] * row[used[j]]
			}
			a[i][n] += row[used[i]] * y[k]
		}
		a[i][i] += ridge
	}
	solved := eliminate(a)
	weights = make([]float64, len(rows[0]))
	for i, j := range used {
		weights[j] = solved[i]
	}
	for k, row := range rows {
		off := y[k]
		for j, w := range weights {
			off -= w * row[j]
		}
		rest += off * off
	}
	return weights, rest, n
}

func varies(rows [][]float64, j int) bool {
	for _, row := range rows {
		if math.Abs(row[j]-rows[0][j]) > 1e-9 {
			return true
		}
	}
	return false
}

// eliminate solves n equations whose last column is the right-hand side (Gauss, with the largest pivot).
func eliminate(a [][]float64) []float64 {
	n := len(a)
	for c := range n {
		top := c
		for r := c + 1; r < n; r++ {
			if math.Abs(a[r][c]) > math.Abs(a[top][c]) {
				top = r
			}
		}
		a[c], a[top] = a[top], a[c]
		if a[c][c] == 0 {
			continue
		}
		for r := range n {
			if by := a[r][c] / a[c][c]; r != c && by != 0 {
				for k := c; k <= n; k++ {
					a[r][k] -= by * a[c][k]
				}
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		if a[i][i] != 0 {
			x[i] = a[i][n] / a[i][i]
		}
	}
	return x
}

// slopeT is the t statistic of the slope of y over x; 0 when x is constant or there are too few.
func slopeT(x, y []float64) float64 {
	n := float64(len(x))
	if n < 3 {
		return 0
	}
	mx, my := mean(x), mean(y)
	xx, xy, yy := 0.0, 0.0, 0.0
	for i := range x {
		xx += (x[i] - mx) * (x[i] - mx)
		xy += (x[i] - mx) * (y[i] - my)
		yy += (y[i] - my) * (y[i] - my)
	}
	if xx == 0 {
		return 0
	}
	slope := xy / xx
	left := math.Max(0, yy-slope*xy) / (n - 2)
	if slope == 0 {
		return 0
	}
	return slope / math.Sqrt(math.Max(left, 1e-12)/xx)
}
