// `root` is this folder, whatever lock files lie above it.
export default {
  compress: false,
  generateEtags: false,
  poweredByHeader: false,
  turbopack: { root: import.meta.dirname }
}
