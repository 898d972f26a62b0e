/** A request whose body takes a share of the memory for bodies before it is read. */
import { isWebRequest } from '../../../app/embedding/sessions.ts'
import type { BodyBudget, BodyShare } from './body-budget.ts'
import { ForwardedRequest, type HttpRequest } from '../request.ts'

/** Bodies up to this size need no share, so that no large body delays them. */
const freeBytes = 16_384

/** Whether the body of a request may need a share. The body of a stream needs none, because it is read in pieces. */
export function needsBudget(request: HttpRequest): boolean {
  const length = request.header('content-length')
  if (length === undefined) return hasUnknownLength(request)
  return !(Number(length) <= freeBytes) || isPacked(request)
}

export class BudgetedRequest extends ForwardedRequest {
  readonly #budget: BodyBudget
  readonly #source: () => string | null
  #body: Promise<Uint8Array> | undefined
  #share: BodyShare | undefined
  #isOver = false

  constructor(inner: HttpRequest, budget: BodyBudget, source: () => string | null) {
    super(inner)
    this.#budget = budget
    this.#source = source
  }

  /** @throws ServiceError also `unavailable` */
  override body(maxBytes: number): Promise<Uint8Array> {
    this.#body ??= this.#read(maxBytes)
    return this.#body
  }

  /** Returns the share, after the response was made. */
  release(): void {
    this.#isOver = true
    this.#share?.release()
  }

  async #read(maxBytes: number): Promise<Uint8Array> {
    const needed = await this.#neededBytes(maxBytes)
    // A body beyond the limit is refused unread.
    if (needed === 0 || needed > maxBytes) return this.inner.body(maxBytes)
    const share = await this.#budget.take(this.#source() ?? '', needed, (then) => this.onGone(then))
    this.#share = share
    if (this.#isOver) share.release()
    const body = await this.inner.body(maxBytes)
    if (!isPacked(this.inner)) share.arrived(body.length)
    return body
  }

  /** A body of unknown length may get as long as the limit. */
  async #neededBytes(maxBytes: number): Promise<number> {
    const length = this.header('content-length')
    if (isPacked(this.inner)) return maxBytes
    if (length !== undefined) return Number(length)
    // A stream of node:http has as much time as it makes progress, so a slow body is never begun as one.
    if (!isWebRequest(this.original)) return maxBytes
    const { length: begun } = await this.stream().head(freeBytes + 1)
    return begun > freeBytes ? maxBytes : 0
  }
}

function hasUnknownLength({ original }: HttpRequest): boolean {
  return isWebRequest(original) ? original.body !== null : original.headers['transfer-encoding'] !== undefined
}

/** Whether the body is longer in memory than on the wire. */
function isPacked(request: HttpRequest): boolean {
  return (request.header('content-encoding') ?? 'identity') !== 'identity'
}
