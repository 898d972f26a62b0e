/**
 * The style sheets, the script and the logo as strings, so that a build copies no files. The pages name them with a hash of
 * their content, such as `troupe.Xy12….css`, so that browsers keep them for ever.
 */
import { hash } from 'node:crypto'
import type { Asset } from '../theme/asset.ts'
import { liveScript } from '../live/live-script.ts'
import { style } from './style.ts'

export type { Asset } from '../theme/asset.ts'

const mark = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#7a2e3a"/><g fill="#fff"><circle cx="16" cy="10" r="3.6"/><circle cx="8.5" cy="20.5" r="3.6"/><circle cx="23.5" cy="20.5" r="3.6"/></g><path d="M14.3 13.2 10.3 17.4M17.7 13.2l4 4.2M12.4 20.7h7.2" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/></svg>
`

/** Removes comments, indentation and spaces without a meaning: a browser reads both files before it shows the first page. */
function compactStyle(text: string): string {
  return text
    .split('*/')
    .map((part) => part.split('/*', 1)[0] ?? '')
    .join('')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};>+]) ?|([:,]) /g, '$1$2')
    .replaceAll(';}', '}')
}

const quotedOrMark = /('[^'\n]*'|"[^"\n]*"|`[^`]*`)| ?([^\w\s'"`]) ?/g

/** Keeps the lines, at which statements end, and what is in quotes. A pattern of a script has neither spaces nor quotes. */
function compactScript(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(?:\/\/|\/?\*)/.test(line))
    .join('\n')
    .replaceAll(quotedOrMark, (_all, quoted?: string, mark?: string) => quoted ?? mark ?? '')
    .replaceAll(/(?<!async)\((\w+)\)=>/g, '$1=>')
    .replaceAll(/([{([,])\n|\n([})\]?:.])/g, '$1$2')
}

/** @param name File name without the hash: `troupe.css`. */
function assetOf(name: string, type: string, text: string): Asset {
  const [base, extension] = name.split('.')
  const file = `${base}.${hash('sha256', text, 'base64url').slice(0, 12)}.${extension}`
  return { name, file, type, text }
}

/** Makes a style sheet that some pages load besides the one of all pages. @param name Unique among all pages. */
export function styleSheet(name: string, text: string): Asset {
  return assetOf(`troupe-${name}.css`, 'text/css; charset=utf-8', compactStyle(text))
}

/** Makes a script that some pages load. @param name Unique among all pages. */
export function pageScript(name: string, text: string): Asset {
  return assetOf(`troupe-${name}.js`, 'text/javascript; charset=utf-8', compactScript(text))
}

/** Makes the logo of an application. @param text SVG. */
export function logoFile(text: string): Asset {
  return assetOf('troupe-logo.svg', 'image/svg+xml', text)
}

/** The assets of every page. */
export const commonAssets = {
  style: assetOf('troupe.css', 'text/css; charset=utf-8', compactStyle(style)),
  script: assetOf('troupe.js', 'text/javascript; charset=utf-8', compactScript(liveScript)),
  logo: assetOf('troupe.svg', 'image/svg+xml', mark),
} as const

/** Returns the path of an asset below the base path, with the hash of its content. */
export function assetPath({ file }: Asset): string {
  return `/assets/${file}`
}

/**
 * Finds an asset by its name, with the hash of its content or without. During an upgrade, a page of one release may name the
 * hash of another; no browser then keeps the file.
 */
export function findAsset(
  name: string,
  assets: readonly Asset[],
): { readonly asset: Asset; readonly cache: string } | null {
  const [, base, extension] = /^(troupe(?:-[a-z]+)?)(?:\.[\w-]{12})?\.(\w+)$/.exec(name) ?? []
  const asset = assets.find((each) => each.name === `${base}.${extension}`)
  if (asset === undefined) return null
  const isCurrent = name === asset.file
  return { asset, cache: isCurrent ? 'public, max-age=31536000, immutable' : 'public, max-age=0, must-revalidate' }
}
