-- Schema 14. Stored words are those of the API: the cause "connect", a judge's "judge_reason", "temperature" in settings.
-- No table changes; older programs refuse the file rather than misread it.
SELECT 1;
