/** Everything that an evil service received, and the values among it that no right gave to it. */
import { hashSecret } from '../../../src/secret/hash.ts'

/** Who reads a marked value: associates, friends, or no peer with a lesser type than partner. */
export type Mark = 'open' | 'inner' | 'closed'

/** A value that tells who may read it, and when it was written. */
export function canary(mark: Mark, number: number): string {
  return `canary-${mark}-${number}`
}

export interface HeardParts {
  readonly name: string
  readonly violation: (text: string) => void
  /** Whether a right gave the value to the evil service. */
  readonly mayRead: (mark: Mark, number: number) => boolean
}

export class Heard {
  readonly #parts: HeardParts
  /** Hashes of all strings that may be secrets. */
  readonly #heard = new Set<string>()
  /** Hashes of secrets that the evil service made, or had before. */
  readonly #own = new Set<string>()
  /** Secrets of its relationships, and others that it received as credentials. */
  readonly credentials = new Set<string>()

  constructor(parts: HeardParts) {
    this.#parts = parts
  }

  /** Records a secret that the evil service made, or had a right to. */
  own(secret: string): string {
    this.credentials.add(secret)
    this.#own.add(hashSecret(secret))
    return secret
  }

  ownHash(hash: string): void {
    this.#own.add(hash)
  }

  take(text: string, where: string): void {
    const { name, violation, mayRead } = this.#parts
    for (const [value, mark, number] of text.matchAll(/canary-(open|inner|closed)-(\d+)/g)) {
      if (!mayRead(mark as Mark, Number(number))) violation(`EVIL: ${name} received ${value} by ${where}`)
    }
    for (const [word] of text.matchAll(/[\w-]{16,500}/g)) this.#heard.add(hashSecret(word))
  }

  takeCredential(secret: string): void {
    this.credentials.add(secret)
    this.#heard.add(hashSecret(secret))
  }

  /** Reports the secrets of others that were heard. */
  judge(secrets: ReadonlyMap<string, string>): void {
    const { name, violation } = this.#parts
    for (const [hash, what] of secrets) {
      if (this.#heard.has(hash) && !this.#own.has(hash)) violation(`EVIL: ${name} received the secret of ${what}`)
    }
  }
}
