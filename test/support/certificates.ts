/** Creates certificates for TLS servers of tests at run time, so that they cannot expire. X.509 in DER (RFC 5280). */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'

export interface Certificate {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

export interface CertificateOptions {
  /** DNS names or IPv4 addresses. */
  readonly names: readonly string[]
  /** Unix milliseconds. Default: one day ago. */
  readonly notBefore?: number
  readonly notAfter?: number
}

export interface Authority {
  readonly cert: string
  issue(options: CertificateOptions): Certificate
}

const dayMs = 86_400_000

export function createAuthority(commonName = 'Test authority'): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = distinguishedName(commonName)
  const basicConstraints = extension('2.5.29.19', sequence(boolean(true)), true)
  const own = { issuer: name, subject: name, publicKey: keys.publicKey, extensions: [basicConstraints] }
  return {
    cert: certificate(own, keys.privateKey),
    issue: (options) => issue(options, name, keys.privateKey),
  }
}

/** Issues a certificate that is signed with its own key. */
export function selfSigned(options: CertificateOptions): Certificate {
  return issue(options, null, null)
}

function issue(options: CertificateOptions, issuer: Buffer | null, signer: KeyObject | null): Certificate {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = distinguishedName(options.names[0] ?? 'unnamed')
  const names = options.names.map((name) =>
    isIPv4(name) ? element(0x87, Buffer.from(name.split('.').map(Number))) : element(0x82, Buffer.from(name)),
  )
  const content = {
    ...options,
    issuer: issuer ?? subject,
    subject,
    publicKey: keys.publicKey,
    extensions: [extension('2.5.29.17', sequence(...names))],
  }
  return {
    cert: certificate(content, signer ?? keys.privateKey),
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
}

interface Content {
  readonly issuer: Buffer
  readonly subject: Buffer
  readonly publicKey: KeyObject
  readonly extensions: readonly Buffer[]
  readonly notBefore?: number
  readonly notAfter?: number
}

function certificate(content: Content, signer: KeyObject): string {
  const { notBefore = Date.now() - dayMs, notAfter = Date.now() + dayMs } = content
  const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'))
  const signed = sequence(
    element(0xa0, element(0x02, Buffer.from([2]))),
    element(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    content.issuer,
    sequence(time(notBefore), time(notAfter)),
    content.subject,
    content.publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(...content.extensions)),
  )
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', signed, signer)])
  const der = sequence(signed, ecdsaWithSha256, element(0x03, signature))
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

function distinguishedName(commonName: string): Buffer {
  return sequence(element(0x31, sequence(objectId('2.5.4.3'), element(0x0c, Buffer.from(commonName)))))
}

function extension(id: string, value: Buffer, isCritical = false): Buffer {
  return sequence(objectId(id), ...(isCritical ? [boolean(true)] : []), element(0x04, value))
}

function time(ms: number): Buffer {
  return element(0x18, Buffer.from(`${new Date(ms).toISOString().replaceAll(/[-:T]|\..*/g, '')}Z`))
}

function boolean(value: boolean): Buffer {
  return element(0x01, Buffer.from([value ? 0xff : 0]))
}

function sequence(...parts: Buffer[]): Buffer {
  return element(0x30, Buffer.concat(parts))
}

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const base128 = (part: number): number[] => {
    const digits = [part & 0x7f]
    for (let left = part >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80)
    return digits
  }
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function element(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
