-- What `GET /users` answers: each row with its address ciphered and its date in ISO 8601.
SELECT json_agg(json_build_object(
    'id', id, 'username', username, 'name', name, 'sex', sex,
    'address', translate(address,
        'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
        'OPQRSTUVWXYZABCDEFGHIJKLMNopqrstuvwxyzabcdefghijklmn'),
    'mail', mail, 'birthdate', to_char(birthdate AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) ORDER BY id)
FROM users
