/** Compares two JSON texts by value. */
import { elements, members } from './members.ts'
import { kindOf, type JsonText } from './text.ts'

/** Ignores the order of keys, and compares numbers by their exact decimal value: 1, 1.0 and 10e-1 are equal. */
export function equal(a: JsonText, b: JsonText): boolean {
  if (a === b) return true
  const kind = kindOf(a)
  if (kind !== kindOf(b)) return false
  switch (kind) {
    case 'object':
      return equalObjects(members(a), members(b))
    case 'array':
      return equalArrays(elements(a), elements(b))
    case 'number':
      return exact(a) === exact(b)
    case 'string':
    case 'boolean':
    case 'null':
      // Each value has one spelling, so different texts are different values.
      return false
    default:
      return kind satisfies never
  }
}

function equalObjects(a: ReadonlyMap<string, JsonText> | null, b: ReadonlyMap<string, JsonText> | null): boolean {
  if (a === null || b === null || a.size !== b.size) return false
  for (const [name, value] of a) {
    const other = b.get(name)
    if (other === undefined || !equal(value, other)) return false
  }
  return true
}

function equalArrays(a: readonly JsonText[] | null, b: readonly JsonText[] | null): boolean {
  if (a === null || b === null || a.length !== b.length) return false
  return a.every((value, index) => {
    const other = b[index]
    return other !== undefined && equal(value, other)
  })
}

/** Normalizes a number: sign, digits without zeros at either end, and the power of ten of the last digit. */
function exact(text: JsonText): string {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const negative = mantissa.startsWith('-')
  const [whole = '', fraction = ''] = (negative ? mantissa.slice(1) : mantissa).split('.')
  const digits = whole + fraction
  let first = 0
  while (first < digits.length && digits.charCodeAt(first) === 0x30) first++
  let last = digits.length
  while (last > first && digits.charCodeAt(last - 1) === 0x30) last--
  if (first === last) return '0'
  // Huge exponents are compared as written, because BigInt arithmetic on them would take too long.
  if (exponent.length > 30) return text.toLowerCase()
  const power =
    BigInt(exponent.startsWith('+') ? exponent.slice(1) : exponent) -
    BigInt(fraction.length) +
    BigInt(digits.length - last)
  return `${negative ? '-' : ''}${digits.slice(first, last)}e${power}`
}
