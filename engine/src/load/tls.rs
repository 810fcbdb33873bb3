//! TLS over the engine's own sockets, by rustls: whose certificates are believed, and one connection.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};

use crate::core::config::Config;
use crate::core::error::EngineError;
use crate::core::plan::Tls;
use crate::load::stream::Stream;
use crate::sys::socket;

/// What all connections of a load share: what is offered, whose certificates are believed, and the service's name.
#[derive(Clone)]
pub struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Client {
    /// `None`: the load speaks plain HTTP.
    pub fn of(config: &Config) -> Result<Option<Client>, EngineError> {
        let new = |tls| Client::new(tls, &config.host);
        config.tls.as_ref().map(new).transpose()
    }

    /// Reads the certificates of authorities; the error is one sentence for a person. `host`: of the target.
    pub fn new(tls: &Tls, host: &str) -> Result<Client, EngineError> {
        let name = tls.name.as_deref().unwrap_or(host);
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let server = ServerName::try_from(name.to_string()).map_err(|_| {
            EngineError::Tls(format!(
                "`{name}` is neither a name nor an address that a certificate can hold"
            ))
        })?;
        let provider = Arc::new(ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| EngineError::Tls(format!("TLS cannot be used: {error}")))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Trust::new(tls)?))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // Each connection stands for a client that was never there before: all handshakes cost the same.
        config.resumption = Resumption::disabled();
        Ok(Client {
            config: Arc::new(config),
            name: server,
        })
    }
}

/// Whose certificates are believed.
#[derive(Debug)]
struct Trust {
    /// `None`: everybody's.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    /// A service's own certificate may be among them, which no authority signed.
    given: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Trust {
    fn new(tls: &Tls) -> Result<Trust, EngineError> {
        let provider = ring::default_provider();
        let algorithms = provider.signature_verification_algorithms;
        let given = match &tls.ca {
            Some(path) => read(path)?,
            None => Vec::new(),
        };
        if tls.insecure {
            return Ok(Trust {
                authorities: None,
                given,
                algorithms,
            });
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(match &tls.ca {
            Some(_) => given.clone(),
            None => rustls_native_certs::load_native_certs().certs,
        });
        let authorities =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::new(provider))
                .build()
                .map_err(|_| match &tls.ca {
                    Some(path) => {
                        EngineError::Tls(format!("`{path}` holds no certificate that can be used"))
                    }
                    None => EngineError::Tls(
                        "this machine has no certificates of authorities; install \
                             ca-certificates, or name them with `ca`"
                            .to_string(),
                    ),
                })?;
        Ok(Trust {
            authorities: Some(authorities),
            given,
            algorithms,
        })
    }
}

fn read(path: &str) -> Result<Vec<CertificateDer<'static>>, EngineError> {
    let failed = |error: String| {
        EngineError::File(format!(
            "the certificates in `{path}` cannot be read: {error}"
        ))
    };
    let found = CertificateDer::pem_file_iter(path).map_err(|error| failed(error.to_string()))?;
    let found: Result<Vec<_>, _> = found.collect();
    match found {
        Ok(found) if found.is_empty() => Err(failed("it holds none in PEM".to_string())),
        Ok(found) => Ok(found),
        Err(error) => Err(failed(error.to_string())),
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        if self.given.contains(end_entity) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// One connection that speaks TLS.
pub struct TlsStream {
    tls: ClientConnection,
    wire: Wire,
    ended: bool,
}

/// Where records go and come from, as rustls asks for it.
struct Wire {
    socket: OwnedFd,
    /// When the kernel had what was read last is wanted.
    stamped: bool,
    stamp_ns: Option<u64>,
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.stamped {
            return socket::receive(&self.socket, buffer);
        }
        let (count, stamp_ns) = socket::receive_stamped(&self.socket, buffer)?;
        self.stamp_ns = stamp_ns;
        Ok(count)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        socket::send(&self.socket, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TlsStream {
    /// Reads records from the socket and takes them apart; 0: the socket has ended.
    fn take(&mut self) -> io::Result<usize> {
        let count = self.tls.read_tls(&mut self.wire)?;
        let state = self.tls.process_new_packets();
        // An alert, or an answer to new keys, is TLS's own to send.
        let pushed = self.push();
        self.ended |= state.map_err(refused)?.peer_has_closed();
        pushed.map(|()| count)
    }
}

impl Stream for TlsStream {
    type Client = Client;

    const IS_TLS: bool = true;

    fn over(socket: OwnedFd, client: &Client) -> io::Result<TlsStream> {
        let mut tls = ClientConnection::new(client.config.clone(), client.name.clone())
            .map_err(io::Error::other)?;
        // A request is taken whole, and waits here for the socket.
        tls.set_buffer_limit(None);
        Ok(TlsStream {
            tls,
            wire: Wire {
                socket,
                stamped: false,
                stamp_ns: None,
            },
            ended: false,
        })
    }

    fn socket(&self) -> &OwnedFd {
        &self.wire.socket
    }

    fn shake_hands(&mut self) -> io::Result<bool> {
        loop {
            self.push()?;
            if !self.tls.is_handshaking() {
                return Ok(true);
            }
            match self.take() {
                Ok(0) => return Err(failed("the server closed the connection")),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::Other => return Err(error),
                Err(error) => return Err(failed(&error.to_string())),
            }
        }
    }

    fn agreed(&self) -> Option<(String, String)> {
        let version = format!("{:?}", self.tls.protocol_version()?);
        let cipher = format!("{:?}", self.tls.negotiated_cipher_suite()?.suite());
        Some((
            version.replace("TLSv1_", "TLS 1."),
            cipher.replace("TLS13_", "TLS_"),
        ))
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.tls.writer().write(bytes)?;
        self.push()?;
        Ok(count)
    }

    fn push(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.wire) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn is_pushed(&self) -> bool {
        !self.tls.wants_write()
    }

    /// An end without TLS's own word for it is an end like any other: many servers send none.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.take()?,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            };
        }
    }

    fn receive_stamped(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        self.wire.stamped = true;
        let count = self.receive(buffer)?;
        Ok((count, self.wire.stamp_ns.take()))
    }

    fn is_quiet(&mut self) -> bool {
        let found = self.receive(&mut [0]);
        matches!(found, Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    fn has_ended(&self) -> bool {
        self.ended
    }
}

impl Drop for TlsStream {
    /// A server that is left without a word takes it for an attack, and some write that down.
    fn drop(&mut self) {
        self.tls.send_close_notify();
        let _ = self.push();
    }
}

fn failed(reason: &str) -> io::Error {
    io::Error::other(format!("the TLS handshake failed: {reason}"))
}

fn refused(error: Error) -> io::Error {
    let reason = match error {
        Error::InvalidMessage(_) => "the server does not speak TLS".to_string(),
        Error::InvalidCertificate(wrong) => certificate(&wrong),
        Error::AlertReceived(alert) => {
            format!("the server refused it ({alert:?})")
        }
        other => other.to_string(),
    };
    failed(&reason)
}

/// What is wrong with a certificate, and what to do about it.
fn certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the certificate has expired; renew it".to_string()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the certificate is not valid yet; look at this machine's clock".to_string()
        }
        CertificateError::UnknownIssuer => {
            "no authority that is trusted here signed the certificate; give its own with --ca"
                .to_string()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the certificate is for another name; ask by that name".to_string()
        }
        // What a service made for itself is often an authority, too, and then webpki says so.
        other if other.to_string().contains("CaUsedAsEndEntity") => {
            certificate(&CertificateError::UnknownIssuer)
        }
        other => format!("the certificate cannot be used ({other})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cannot be a name, a file or a certificate has a sentence of its own.
    #[test]
    fn mistakes_have_sentences() {
        let tls = |ca: Option<&str>| Tls {
            ca: ca.map(str::to_string),
            ..Tls::default()
        };
        let wrong = |tls: Tls, host: &str| Client::new(&tls, host).err().unwrap().to_string();
        let insecure = Tls {
            insecure: true,
            ..Tls::default()
        };
        assert_eq!(
            wrong(insecure, "no name"),
            "`no name` is neither a name nor an address that a certificate can hold"
        );
        let missing = wrong(tls(Some("/no/such/file")), "localhost");
        assert!(missing.starts_with("the certificates in `/no/such/file` cannot be read: "));
        assert_eq!(
            wrong(tls(Some("/dev/null")), "localhost"),
            "the certificates in `/dev/null` cannot be read: it holds none in PEM"
        );
    }
}
