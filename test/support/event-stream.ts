/** Reads the JSON messages of a text/event-stream in order. */
export class EventStream {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder()
  #text = ''

  constructor(response: Response) {
    if (response.body === null) throw new Error(`The response has no stream: status ${response.status}`)
    this.#reader = response.body.getReader()
  }

  /** Returns the next message, or null at the end of the stream. */
  // oxlint-disable-next-line typescript/no-explicit-any
  async next(): Promise<any> {
    for (;;) {
      const end = this.#text.indexOf('\n\n')
      if (end >= 0) {
        const event = this.#text.slice(0, end)
        this.#text = this.#text.slice(end + 2)
        const data = /^data: (.*)$/m.exec(event)?.[1]
        if (data !== undefined) return JSON.parse(data)
        continue
      }
      const { done, value } = await this.#reader.read()
      if (done) return null
      this.#text += this.#decoder.decode(value, { stream: true })
    }
  }

  async close(): Promise<void> {
    await this.#reader.cancel()
  }
}
