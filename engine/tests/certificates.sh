#!/bin/sh
# Makes an authority and what services may show, for tests of TLS on both sides: certificates.sh FOLDER. Needs openssl.
# Each NAME.pem has its key in NAME.key: authority, stranger (another authority), good, other-name, expired, self-signed.
set -eu
cd "$1"
exec 2>log

names="subjectAltName=DNS:localhost,IP:127.0.0.1"
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"

for one in authority stranger; do
    openssl req -x509 $key -keyout $one.key -out $one.pem -subj "/CN=$one" -days 30
done

signed() { # NAME SUBJECT_ALTERNATIVE_NAMES
    openssl req -x509 $key -CA authority.pem -CAkey authority.key -keyout "$1.key" -out "$1.pem" -subj "/CN=$1" -days 30 \
        -addext "$2" -addext basicConstraints=critical,CA:FALSE
}
signed good "$names"
signed other-name subjectAltName=DNS:other.example

# As `openssl req -x509` makes one for development: an authority for itself.
openssl req -x509 $key -keyout self-signed.key -out self-signed.pem -subj /CN=localhost -days 30 -addext "$names"

# Only `openssl ca` makes certificates of the past.
cat >expired.cnf <<END
[ca]
default_ca = past
[past]
database = index.txt
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = optional
END
: >index.txt
openssl req -new $key -keyout expired.key -out expired.csr -subj /CN=expired -addext "$names"
openssl ca -batch -config expired.cnf -notext -startdate 20200101000000Z -enddate 20200201000000Z \
    -cert authority.pem -keyfile authority.key -in expired.csr -out expired.pem
