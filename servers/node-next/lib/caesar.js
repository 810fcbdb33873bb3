// The Caesar cipher on UTF-8, whose bytes above 127 are never letters: A–Z and a–z rotated by 14 inside their case.
const ROTATED = Uint8Array.from({ length: 256 }, (_, byte) => {
  const first = byte < 97 ? 65 : 97
  return byte >= first && byte < first + 26 ? first + (byte - first + 14) % 26 : byte
})

export function caesar (text) {
  const bytes = Buffer.from(text)
  for (let index = 0; index < bytes.length; index++) bytes[index] = ROTATED[bytes[index]]
  return bytes.toString()
}
