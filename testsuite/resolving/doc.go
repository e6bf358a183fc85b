// Package resolving kills servers while they resolve predictions and count claims.
package resolving
