package policy

import "strings"

// alike are letters of other scripts with the Latin letter that they look like, case by case: the pairs of Unicode's
// confusables (UTS 39) that whole words of our vocabulary can be written with. NFKD has dealt with the forms of Latin.
var alike = pairs(`
а a  А A  ɑ a  α a  Α A  ᴀ a  Ꭺ A  ⲁ a  ӑ a
ь b  В B  Β B  Ь b  ʙ b  Ᏼ B 
с c  С C  ϲ c  Ϲ C  ᴄ c  Ꮯ C  ⲥ c  ⅽ c
ԁ d  Ꭰ D  ᴅ d  ɗ d  đ d  Đ D  ժ d
е e  Е E  Ε E  ε e  ҽ e  є e  ᴇ e  Ꭼ E  ɛ e  ə e  ℮ e
ғ f  Ϝ F  ƒ f  ꜰ f  ք f
ɡ g  ց g  Ԍ G  ɢ g  Ꮐ G  ԍ g
һ h  Н H  Η H  հ h  ʜ h  Ꮋ H  н h  ħ h
і i  І I  ι i  Ι I  ı i  ɩ i  ɪ i  Ꭵ i  ӏ l  Ӏ I  ї i
ј j  Ј J  ϳ j  ᴊ j  Ꭻ J
к k  К K  κ k  Κ K  ᴋ k  Ꮶ K
ⅼ l  ʟ l  Ꮮ L  ł l  Ł L  ℓ l  Լ L  ǀ l
м m  М M  Μ M  ᴍ m  Ꮇ M  ⅿ m
п n  Ν N  η n  ɴ n  ո n  ռ n  ŋ n
о o  О O  ο o  Ο O  օ o  Օ O  ᴏ o  σ o  ø o  Ø O  ០ o  ⲟ o
р p  Р P  ρ p  Ρ P  ᴘ p  Ꮲ P  ⲣ p
ԛ q  Ԛ Q  գ q  զ q
г r  ʀ r  Ꮢ R  ɾ r  ᴦ r
ѕ s  Ѕ S  ꜱ s  Տ S  Ꮪ S  ʂ s
т t  Т T  Τ T  τ t  ᴛ t  Ꭲ T  ŧ t
υ u  ս u  ᴜ u  Ս U  ц u  μ u
ν v  ѵ v  Ѵ V  ᴠ v  Ꮩ V  ⅴ v
ѡ w  ԝ w  Ԝ W  ᴡ w  Ꮃ W  ω w  ա w  ш w
х x  Х X  χ x  Χ X  ⅹ x  ҳ x
у y  У Y  γ y  Υ Y  ү y  Ү Y  ʏ y  Ꮍ Y
ᴢ z  Ζ Z  Ꮓ Z  ʐ z  ƶ z
🅰 a 🅱 b 🅾 o 🅿 p
`)

func pairs(text string) map[rune]rune {
	table := map[rune]rune{}
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i += 2 {
		table[[]rune(words[i])[0]] = rune(words[i+1][0])
	}
	for i := range rune(26) {
		table['🇦'+i] = 'a' + i // regional indicators
		table['🅰'+i] = 'a' + i // negative squared
		table['🅐'+i] = 'a' + i // negative circled
	}
	return table
}

func lookalike(r rune) rune {
	if latin, ok := alike[r]; ok {
		return latin
	}
	return r
}
