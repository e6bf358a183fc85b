package inference

// Reference is a text, another that says much the same in other words, and one that differs from it by next to nothing.
type Reference struct{ Text, Reworded, Repeated string }

// References are the texts that an embedder is calibrated with. The texts of two references are unrelated. They are
// fixed: another list would be another calibration.
var References = []Reference{
	{
		"My brother works as a teacher in Oslo.", "He has a job at a school in the Norwegian capital.",
		"my brother works as a teacher in Oslo",
	},
	{
		"The deployment failed because the disk was full.",
		"There was no storage left, so the release could not be rolled out.",
		"The deployment failed, because the disk was full.",
	},
	{"I am allergic to peanuts.", "Eating nuts makes me ill.", "I'm allergic to peanuts!"},
	{
		"We are moving to a larger flat in May.", "This spring the family changes to an apartment with more rooms.",
		"We're moving to a larger flat in May.",
	},
	{
		"The train to Berlin leaves at seven.", "Departure by rail for the German capital is early in the morning.",
		"The train to Berlin leaves at 7.",
	},
	{
		"Our API limits each client to ten requests a second.", "Callers are throttled once they ask too often.",
		"Our API limits every client to ten requests a second.",
	},
	{
		"She plays the piano every evening.", "At night she practises music on her keyboard instrument.",
		"She plays the piano each evening.",
	},
	{
		"The dog ran away during the thunderstorm.", "Frightened by lightning, our puppy escaped.",
		"The dog ran away during the thunder storm.",
	},
	{
		"Please water the tomatoes while I am away.", "Could you look after my vegetable plants during the holidays?",
		"Please water the tomatoes while I'm away.",
	},
	{
		"He broke his leg skiing last winter.", "A fracture from an accident on the slopes kept him in bed.",
		"He broke his leg when skiing last winter.",
	},
	{
		"The museum is closed on Mondays.", "You cannot visit the exhibition at the start of the week.",
		"The museum is closed on Monday.",
	},
	{
		"Their wedding cost more than a new car.", "Getting married was extremely expensive for the couple.",
		"Their wedding cost more than a new car did.",
	},
	{
		"The backup of the database runs every night.", "A copy of all stored records is made daily while people sleep.",
		"The backup of the database is run every night.",
	},
	{
		"I prefer tea to coffee.", "Given the choice of hot drinks, leaves rather than beans for me.",
		"I prefer tea over coffee.",
	},
	{
		"The price of wheat rose after the drought.", "Grain became dearer since it had hardly rained.",
		"The price of wheat rose after the drought",
	},
	{
		"Her grandfather was a fisherman in Brittany.", "The old man earned his living at sea off the French coast.",
		"Her grandfather was a fisherman, in Brittany.",
	},
	{
		"The password must be changed every ninety days.", "Users have to choose new login credentials each quarter.",
		"The password has to be changed every ninety days.",
	},
	{
		"They painted the kitchen blue.", "The room where they cook has walls of another colour now.",
		"They painted the kitchen in blue.",
	},
	{
		"Our team won the match in the last minute.", "A late goal gave us victory in the game.",
		"Our team won the match in the final minute.",
	},
	{
		"The telescope shows the rings of Saturn.", "Through the lens one can see the planet and what circles it.",
		"The telescope shows Saturn's rings.",
	},
}
