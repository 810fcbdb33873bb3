// Numbers from the query.
import { Refused } from './answers.js'

const INT4_MAX = 2147483647
const DECIMAL = /^-?[0-9]+$/

export function parseId (parameters, name) {
  return parseInteger(parameters, name, 1)
}

export function parseInteger (parameters, name, min = -INT4_MAX - 1) {
  const text = parameters.get(name)
  if (text === null || !DECIMAL.test(text)) throw new Refused(400, `\`${name}\` must be a decimal integer`)
  const value = Number(text)
  if (value < min || value > INT4_MAX) throw new Refused(400, `\`${name}\` is out of range`)
  return value
}
