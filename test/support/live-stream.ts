/** Reads a stream of server-sent events, as a page or an application does. */
import assert from 'node:assert/strict'

export const wantsEvents = { accept: 'text/event-stream' }

export class LiveStream {
  readonly answer: Response
  readonly #reader: ReadableStreamDefaultReader<string>
  #rest = ''

  private constructor(answer: Response) {
    this.answer = answer
    assert.ok(answer.body)
    this.#reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  }

  static of(answer: Response): LiveStream {
    assert.equal(answer.status, 200)
    return new LiveStream(answer)
  }

  /** The next block of the stream, or null at its end. */
  async next(): Promise<string | null> {
    for (;;) {
      const end = this.#rest.indexOf('\n\n')
      if (end >= 0) {
        const block = this.#rest.slice(0, end)
        this.#rest = this.#rest.slice(end + 2)
        return block
      }
      const { done, value } = await this.#reader.read()
      if (done) return null
      this.#rest += value
    }
  }

  /** The data of the next event `ready`. */
  async ready(): Promise<unknown> {
    const block = await this.next()
    assert.match(block ?? '', /^retry: 3000\n(id: \d+\n)?event: ready\ndata: /)
    return JSON.parse(dataIn(block ?? '') ?? '')
  }

  /** The data of the next event `change`, without heartbeats. Null at the end of the stream. */
  async change(): Promise<unknown> {
    for (;;) {
      const block = await this.next()
      if (block === null) return null
      const data = dataIn(block)
      if (data === undefined || block.includes('\nevent: ready\n')) continue
      assert.match(block, /^id: \d+\nevent: change\ndata: /)
      return JSON.parse(data)
    }
  }

  close(): Promise<void> {
    return this.#reader.cancel()
  }
}

function dataIn(block: string): string | undefined {
  return /^data: (.*)$/m.exec(block)?.[1]
}
