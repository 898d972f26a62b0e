/** A passkey in software, whose responses a test can falsify in every part (WebAuthn Level 3, section 6). */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'

/** The parts of a response, which tests change one by one. */
export interface DeviceAnswer {
  readonly origin: string
  readonly rpId: string
  readonly challenge: string
  /** `webauthn.create` or `webauthn.get`. */
  readonly type: string
  /** Whether the person confirmed with fingerprint, face or PIN. */
  readonly verified: boolean
  readonly counter: number
  readonly userHandle: string
}

/** A passkey that another process continues to use. */
export interface KeptPasskey {
  readonly id: string
  readonly userHandle: string
  readonly counter: number
  /** The private key: PKCS #8 in base64. */
  readonly key: string
}

const flags = { present: 0x01, verified: 0x04, syncable: 0x08, synced: 0x10, withKey: 0x40 }

export class SoftPasskey {
  readonly id: string
  /** The user handle of the creation, in base64url. */
  userHandle = ''
  counter = 0
  readonly #privateKey: KeyObject
  readonly #publicKey: KeyObject
  readonly #isSynced: boolean

  /** @param options.kept A passkey that `export` returned. */
  constructor({ isSynced = false, kept }: { readonly isSynced?: boolean; readonly kept?: KeptPasskey } = {}) {
    this.id = kept?.id ?? randomBytes(32).toString('base64url')
    this.userHandle = kept?.userHandle ?? ''
    this.counter = kept?.counter ?? 0
    this.#privateKey =
      kept === undefined
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
        : createPrivateKey({ key: Buffer.from(kept.key, 'base64'), format: 'der', type: 'pkcs8' })
    this.#publicKey = createPublicKey(this.#privateKey)
    this.#isSynced = isSynced
  }

  export(): KeptPasskey {
    const { id, userHandle, counter } = this
    const key = this.#privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')
    return { id, userHandle, counter, key }
  }

  /** Responds to the creation options of a page. @returns the JSON that a browser makes of the response. */
  create(optionsJson: string, origin: string, change: Partial<DeviceAnswer> = {}): string {
    const options = JSON.parse(optionsJson) as {
      readonly challenge: string
      readonly rp: { readonly id: string }
      readonly user: { readonly id: string }
    }
    this.userHandle = options.user.id
    const answer = this.#answer('webauthn.create', origin, options.rp.id, options.challenge, change)
    const authData = Buffer.concat([this.#head(answer, flags.withKey), this.#attestedKey()])
    const attestation = cborMap([
      ['fmt', cborText('none')],
      ['attStmt', cborMap([])],
      ['authData', cborBytes(authData)],
    ])
    return this.#json({
      clientDataJSON: clientData(answer).toString('base64url'),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    })
  }

  /** Responds to the request options of a page. */
  get(optionsJson: string, origin: string, change: Partial<DeviceAnswer> = {}): string {
    const options = JSON.parse(optionsJson) as { readonly challenge: string; readonly rpId: string }
    this.counter += 1
    const answer = this.#answer('webauthn.get', origin, options.rpId, options.challenge, change)
    const authData = this.#head(answer, 0)
    const data = clientData(answer)
    const signature = sign('sha256', Buffer.concat([authData, sha256(data)]), this.#privateKey)
    return this.#json({
      clientDataJSON: data.toString('base64url'),
      authenticatorData: authData.toString('base64url'),
      signature: signature.toString('base64url'),
      userHandle: answer.userHandle,
    })
  }

  #answer(type: string, origin: string, rpId: string, challenge: string, change: Partial<DeviceAnswer>): DeviceAnswer {
    const { counter, userHandle } = this
    return { origin, rpId, challenge, type, verified: true, counter, userHandle, ...change }
  }

  #head({ rpId, verified, counter }: DeviceAnswer, more: number): Buffer {
    const head = Buffer.alloc(37)
    sha256(Buffer.from(rpId)).copy(head)
    const synced = this.#isSynced ? flags.syncable | flags.synced : 0
    head[32] = flags.present | (verified ? flags.verified : 0) | synced | more
    head.writeUInt32BE(counter, 33)
    return head
  }

  #attestedKey(): Buffer {
    const { x = '', y = '' } = this.#publicKey.export({ format: 'jwk' })
    const id = Buffer.from(this.id, 'base64url')
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    const key = cborMap([
      [1, cborInteger(2)],
      [3, cborInteger(-7)],
      [-1, cborInteger(1)],
      [-2, cborBytes(Buffer.from(x, 'base64url'))],
      [-3, cborBytes(Buffer.from(y, 'base64url'))],
    ])
    return Buffer.concat([Buffer.alloc(16), length, id, key])
  }

  #json(response: object): string {
    const { id } = this
    return JSON.stringify({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response })
  }
}

function clientData({ type, challenge, origin }: DeviceAnswer): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
}

function sha256(data: Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}

/** The head of an item in CBOR (RFC 8949, section 3). */
function cborHead(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value])
  if (value < 256) return Buffer.from([(major << 5) | 24, value])
  return Buffer.from([(major << 5) | 25, value >> 8, value & 255])
}

function cborInteger(value: number): Buffer {
  return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value)
}

function cborBytes(bytes: Buffer): Buffer {
  return Buffer.concat([cborHead(2, bytes.length), bytes])
}

function cborText(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([cborHead(3, bytes.length), bytes])
}

function cborMap(entries: readonly (readonly [string | number, Buffer])[]): Buffer {
  const items = entries.flatMap(([key, value]) => [typeof key === 'number' ? cborInteger(key) : cborText(key), value])
  return Buffer.concat([cborHead(5, entries.length), ...items])
}
