/** Links between documents, and whether their targets exist. */
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export interface DeadLink {
  readonly path: string
  readonly line: number
  readonly target: string
  readonly reason: string
}

/** Documents that npm packs without an entry in `files`. */
const alwaysPacked = ['README.md', 'LICENSE', 'package.json']

/** Every dead link of the documents, in the repository and in the archive that `npm pack` makes. */
export function deadLinks(root: string, documents: readonly string[]): DeadLink[] {
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: readonly string[] }
  const isPacked = (path: string): boolean =>
    [...files, ...alwaysPacked].some((entry) => path === entry || path.startsWith(`${entry}/`))
  return documents.flatMap((path) =>
    linksOf(readFileSync(join(root, path), 'utf8')).flatMap(({ line, target }) => {
      const [file = '', heading] = target.split('#')
      const linked = file === '' ? path : posix.join(posix.dirname(path), file)
      const reason = reasonOf(root, linked, heading)
      if (reason !== null) return [{ path, line, target, reason }]
      const isLost = isPacked(path) && !isPacked(linked.replace(/\/$/, ''))
      return isLost ? [{ path, line, target, reason: 'the archive does not contain the file' }] : []
    }),
  )
}

function reasonOf(root: string, linked: string, heading: string | undefined): string | null {
  if (!existsSync(join(root, linked))) return 'the file does not exist'
  if (heading === undefined) return null
  return anchorsOf(readFileSync(join(root, linked), 'utf8')).includes(heading) ? null : 'the heading does not exist'
}

/** Links to files and headings of this project. Code and links to other sites are left out. */
export function linksOf(text: string): { readonly line: number; readonly target: string }[] {
  const blank = (code: string): string => code.replaceAll(/[^\n]/g, ' ')
  const plain = text.replaceAll(/^```.*?^```$/gms, blank).replaceAll(/`[^`\n]*`/g, blank)
  return [...plain.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(({ 1: target = '', index }) => ({ line: plain.slice(0, index).split('\n').length, target }))
    .filter(({ target }) => !/^(?:https?|mailto):/.test(target))
}

/** The anchors of a document: its headings in the form of GitHub, and its `<a id>` elements. */
function anchorsOf(text: string): string[] {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return [...headings, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)]
}
