/** Reads the QR code of a page as a phone would, from the picture. */
import jsqr from 'jsqr'

/** Pixels for each module of the code. */
const scale = 4

/** Returns the text of the QR code in the page; null when it cannot be read. */
export function readQr(page: string): string | null {
  const [, sizeText = '', path = ''] =
    /<svg class="qr" viewBox="0 0 (\d+) \d+"[^>]*><rect[^>]*>(?:<\/rect>)?<path fill="#000" d="([^"]*)"/.exec(page) ??
    []
  const size = Number(sizeText)
  if (!(size > 0)) return null
  const pixels = new Uint8ClampedArray((size * scale) ** 2 * 4).fill(255)
  for (const [, x = '', y = '', width = ''] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g))
    for (let row = Number(y) * scale; row < (Number(y) + 1) * scale; row++)
      for (let column = Number(x) * scale; column < (Number(x) + Number(width)) * scale; column++)
        pixels.fill(0, (row * size * scale + column) * 4, (row * size * scale + column) * 4 + 3)
  return jsqr.default(pixels, size * scale, size * scale)?.data ?? null
}
