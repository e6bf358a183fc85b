package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestEigenvectorsTurnAMatrixIntoItsDiagonal(t *testing.T) {
	t.Parallel()
	a := [][]float64{{4, 1, 0}, {1, 3, 1}, {0, 1, 2}}
	whole := [][]float64{{4, 1, 0}, {1, 3, 1}, {0, 1, 2}}
	vectors := eigenvectors(a)
	last := math.Inf(1)
	for _, v := range vectors {
		product, value := make([]float64, 3), 0.0
		for i := range whole {
			for j, x := range v {
				product[i] += whole[i][j] * x
			}
			value += product[i] * v[i]
		}
		for i, x := range v {
			if math.Abs(product[i]-value*x) > 1e-9 {
				t.Fatalf("%v is turned by the matrix into %v", v, product)
			}
		}
		if value > last {
			t.Fatalf("eigenvalue %v comes after %v", value, last)
		}
		last = value
	}
}

func TestATableLearnsWhereSentencesLieTheSameOnAnyNumberOfCores(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(5, 6))
	truth, start := newMatrix(20, 8), newMatrix(20, 8)
	for i := range truth.data {
		truth.data[i] = dice.Float32() - .5
	}
	truth = centred(truth)
	for i, x := range truth.data {
		start.data[i] = x + .7*(dice.Float32()-.5)
	}
	var lessons []lesson
	for range 400 {
		pieces := make([]int32, 3+dice.IntN(5))
		for i := range pieces {
			pieces[i] = int32(dice.IntN(20))
		}
		lessons = append(lessons, lesson{pieces, mean(truth, pieces)})
	}
	distance := func(m matrix) float64 {
		sum := 0.0
		for _, l := range lessons {
			a, b := unit(mean(m, l.pieces)), unit(append([]float32{}, l.place...))
			for i := range a {
				sum += float64(a[i] * b[i])
			}
		}
		return 1 - sum/float64(len(lessons))
	}
	learned := learn(start, lessons, .01, 15, 1)
	if before, after := distance(start), distance(learned); after > before/2 {
		t.Fatalf("mean distance was %.3f before and is %.3f after learning", before, after)
	}
	again := learn(start, lessons, .01, 15, 3)
	for i := range learned.data {
		if learned.data[i] != again.data[i] {
			t.Fatal("another number of cores gives another table")
		}
	}
}

func TestAnEntryOfWordNetGivesItsGlossAndItsExamples(t *testing.T) {
	t.Parallel()
	got := entry(
		`00004227 29 v 02 exhale 0 breathe_out 0 001 @ 00001740 v 0000 01 + 02 00 | expel air; "Exhale when you lift the weight"; "he sighed"  `)
	want := []string{"exhale, breathe out: expel air", "Exhale when you lift the weight", "he sighed"}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %q instead of %q", got[i], want[i])
		}
	}
	if entry("  1 This software and database is being provided") != nil {
		t.Fatal("the licence at the head of the file is no entry")
	}
}
