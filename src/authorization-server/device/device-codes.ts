/**
 * Device authorization (RFC 8628): a television or a command line shows a short code, which the owner enters in a browser on
 * another device. Meanwhile the program asks for its tokens.
 */
import type { Store, Transaction } from '../../store/store.ts'
import { newTypedCode, parseTypedCode } from '../../secret/typed-code.ts'
import type { OneTime } from '../../token/one-time.ts'
import type { AuthorizationRequest } from '../authorization-request.ts'
import type { WaitingDevice } from './waiting-device.ts'

/** Data of a device code: the client, until the owner decides. */
export interface DeviceData {
  readonly clientId: string
}

/** Data of a device code after the decision. @typeParam T The data from which its tokens are issued. */
export interface DeviceOutcome<T extends object> extends DeviceData {
  /** Null: the owner denied the program. */
  readonly agreed: T | null
}

/** Seconds in which the owner decides, and the program fetches its tokens. */
export const deviceSeconds = 600
/** Seconds that a program waits between two requests for its tokens. */
export const pollSeconds = 5

/** 40 random bits, for ten minutes; wrong codes are limited. */
const userCodeLength = 8

export interface DeviceCodesDeps {
  readonly store: Store
  readonly oneTime: OneTime
}

export class DeviceCodes {
  readonly #deps: DeviceCodesDeps

  constructor(deps: DeviceCodesDeps) {
    this.#deps = deps
  }

  begin(clientId: string, access: Pick<AuthorizationRequest, 'scope' | 'audience'>): Promise<WaitingDevice> {
    const { store, oneTime } = this.#deps
    const userCode = newTypedCode(userCodeLength)
    return store.write(async (tx) => {
      const data: DeviceData = { clientId }
      const deviceCode = await oneTime.create(tx, { purpose: 'device_code', data })
      const request: AuthorizationRequest = {
        clientId,
        redirectUri: '',
        state: null,
        codeChallenge: null,
        device: { deviceCode, userCode },
        ...access,
      }
      const value = parseTypedCode(userCode, userCodeLength) ?? ''
      await oneTime.create(tx, { purpose: 'user_code', data: request, value })
      return { deviceCode, userCode }
    })
  }

  /** Returns the request of the device that shows this code. Null when the code is wrong, has expired or was used. */
  async find(typed: string): Promise<AuthorizationRequest | null> {
    const { store, oneTime } = this.#deps
    const value = parseTypedCode(typed, userCodeLength)
    if (value === null) return null
    const found = await store.read((q) => oneTime.peek<AuthorizationRequest>(q, { purpose: 'user_code', value }))
    return found?.data ?? null
  }

  /** Stores the decision, once. Returns false when the code has expired or another decision came first. */
  async decide<T extends object>(
    tx: Transaction,
    { deviceCode, userCode }: WaitingDevice,
    agreed: T | null,
  ): Promise<boolean> {
    const { oneTime } = this.#deps
    const presented = { purpose: 'device_code', value: deviceCode } as const
    const waiting = await oneTime.consume<DeviceData>(tx, presented)
    if (waiting === null) return false
    const outcome: DeviceOutcome<T> = { ...waiting.data, agreed }
    await oneTime.remember(tx, deviceCode, outcome, deviceSeconds)
    await oneTime.consume(tx, { purpose: 'user_code', value: parseTypedCode(userCode, userCodeLength) ?? '' })
    return true
  }

  /** Returns whether the owner with this id agreed. Null: an owner denied the program. */
  async wasDecided({ deviceCode }: WaitingDevice, ownerId: string | null): Promise<boolean> {
    const { store, oneTime } = this.#deps
    const presented = { purpose: 'device_code', value: deviceCode } as const
    const spent = await store.read((q) => oneTime.spent<DeviceOutcome<{ readonly actorId: string }>>(q, presented))
    return spent !== null && (spent.data.agreed?.actorId ?? null) === ownerId
  }
}

/**
 * The times of the last requests for tokens, in this process. Each request that comes too soon makes the program wait five
 * seconds longer, for this and all later requests (RFC 8628 section 3.5).
 */
export class Polls {
  readonly #now: () => number
  readonly #last = new Map<string, { readonly at: number; readonly seconds: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Notes a request. Returns whether it came too soon after the last one. */
  isTooSoon(deviceCode: string): boolean {
    const now = this.#now()
    const last = this.#last.get(deviceCode)
    const isTooSoon = last !== undefined && now - last.at < last.seconds * 1000
    const seconds = Math.min(deviceSeconds, (last?.seconds ?? pollSeconds) + (isTooSoon ? pollSeconds : 0))
    this.#last.delete(deviceCode)
    this.#last.set(deviceCode, { at: now, seconds })
    // The oldest entry is the first one.
    const [oldest] = this.#last.keys()
    if (this.#last.size > maxPolls && oldest !== undefined) this.#last.delete(oldest)
    return isTooSoon
  }
}

const maxPolls = 10_000
