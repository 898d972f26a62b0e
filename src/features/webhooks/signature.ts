/** Secrets and signatures of the Standard Webhooks specification (standardwebhooks.com). */
import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'
const leastBytes = 24
const maxBytes = 64

/** Returns a new secret of 256 random bits. */
export function newSecret(): string {
  return `${prefix}${randomBytes(32).toString('base64')}`
}

/** Whether a string is a secret: `whsec_` and the base64 of 24 to 64 bytes. */
export function isSecret(text: string): boolean {
  if (!text.startsWith(prefix)) return false
  const encoded = text.slice(prefix.length)
  const bytes = Buffer.from(encoded, 'base64')
  return bytes.length >= leastBytes && bytes.length <= maxBytes && bytes.toString('base64') === encoded
}

export interface Signed {
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: number
  readonly body: string
}

/** The headers of a message. Each secret adds a signature. */
export function signedHeaders({ id, timestamp, body }: Signed, secrets: readonly string[]): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  }
}
