/** JSON responses with an array that is read in pages. */
import { known } from '../../json/json.ts'
import { type HttpResponse, jsonStream, jsonText } from './response.ts'

/** The object around the array: its members before the array, the name of the array, and the members after it. */
export interface Envelope {
  readonly before: object
  readonly name: string
  readonly after?: object
}

/** An array up to this length is sent at once, in characters. */
const shortCharacters = 262_144

/**
 * Makes a JSON response with an array. A short array is sent at once. Otherwise, the pages are read while they are sent, when the
 * client has taken the page before.
 *
 * @param envelope null for the array alone.
 */
export async function pagedJson(
  pages: AsyncIterable<readonly object[]>,
  envelope: Envelope | null = null,
): Promise<HttpResponse> {
  const { before, after } = textsOf(envelope)
  const pieces = piecesOf(pages[Symbol.asyncIterator](), after)
  let start = before
  // An error in the pages of a short array is answered with its status.
  while (start.length <= shortCharacters) {
    const next = await pieces.next()
    if (next.done === true) return jsonText(200, known(start))
    start += next.value
  }
  return jsonStream(200, startingWith(start, pieces))
}

async function* startingWith(start: string, pieces: AsyncGenerator<string>): AsyncGenerator<string> {
  yield start
  yield* pieces
}

/** The elements of each page, and the end of the response. */
async function* piecesOf(pages: AsyncIterator<readonly object[]>, after: string): AsyncGenerator<string> {
  let separator = ''
  for (let page = await pages.next(); page.done !== true; page = await pages.next()) {
    if (page.value.length === 0) continue
    yield separator + textOf(page.value)
    separator = ','
  }
  yield after
}

/** The elements, without the brackets of their array. */
function textOf(page: readonly object[]): string {
  return JSON.stringify(page).slice(1, -1)
}

function textsOf(envelope: Envelope | null): { readonly before: string; readonly after: string } {
  if (envelope === null) return { before: '[', after: ']' }
  const [before, after] = [envelope.before, envelope.after ?? {}].map((one) => JSON.stringify(one).slice(1, -1))
  return {
    before: `{${before}${before === '' ? '' : ','}${JSON.stringify(envelope.name)}:[`,
    after: `]${after === '' ? '' : `,${after}`}}`,
  }
}
