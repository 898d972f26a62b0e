/** QR codes (ISO/IEC 18004) as pictures in a page. */
import { html } from 'hono/html'
import type { Html } from '../shared/values.ts'

/** Modules of white around the code, which the standard requires. */
const border = 4

/** Renders the text as a QR code. Its colors do not follow the theme, because readers need dark on light. */
export async function qrCode(text: string, label: string): Promise<Awaited<Html>> {
  const { encode } = await import('uqr')
  const { data, size } = encode(text, { ecc: 'M', border })
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${label}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path fill="#000" d="${data.map(darkRuns).join('')}"/></svg>`
}

/** Path of the dark modules of a row, one rectangle for neighboring modules. */
function darkRuns(row: readonly boolean[], y: number): string {
  let path = ''
  for (let x = 0; x < row.length; x += 1) {
    if (row[x] !== true) continue
    let width = 1
    while (row[x + width] === true) width += 1
    path += `M${x} ${y}h${width}v1h-${width}z`
    x += width
  }
  return path
}
