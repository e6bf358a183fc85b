-- Schema 19. The newest dreams of an agent are described from one index, without their rows.

CREATE INDEX items_nights ON items (agent, state, at, id, status) WHERE kind = 'night';
