-- The page of fortunes, in code-point order.
SELECT '<!doctype html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>'
    || string_agg('<tr><td>' || id || '</td><td>' || replace(replace(message, '&', '&amp;'), '<', '&lt;') || '</td></tr>', ''
                  ORDER BY message COLLATE "C")
    || '</table></body></html>'
FROM (TABLE fortune UNION ALL VALUES (0, 'Additional fortune added at request time.')) AS every
