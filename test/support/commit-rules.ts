/** The rules of CONTRIBUTING.md for commit messages. */
import { execFileSync } from 'node:child_process'
import { realpathSync } from 'node:fs'

export interface Commit {
  readonly hash: string
  readonly subject: string
  readonly body: string
  /** Paths of the files that the commit changes. */
  readonly files: readonly string[]
}

const longestSubject = 72
/** Imperatives with the same ending as other verb forms. */
const imperatives = /^(?:embed|exceed|feed|need|proceed|read|seed|shed|speed|bring|string|\w+ss|focus|bias|alias)$/

/** Returns a sentence for each rule that the commit breaks. */
export function brokenRules({ subject, body, files }: Commit): readonly string[] {
  const [, verb] = /^[a-z][\w./ ,-]*: (\S+)/.exec(subject) ?? []
  const broken: string[] = []
  if (subject.length > longestSubject) broken.push(`the subject has more than ${longestSubject} characters`)
  if (verb === undefined) broken.push('the subject is not "area: do the thing"')
  else if (/(?:ed|ing|s)$/.test(verb) && !imperatives.test(verb)) broken.push(`"${verb}" is not an imperative`)
  if (subject.endsWith('.')) broken.push('the subject ends with a period')
  if (files.includes('CHANGELOG.md') && body === '') broken.push('a commit that changes behavior has a body')
  return broken
}

/** Returns the commits after `base`, newest first, or null when the history since `base` is not available. */
export function commitsSince(base: string, folder: string): readonly Commit[] | null {
  try {
    // A copy without history inside another repository would otherwise return the commits of that repository.
    if (realpathSync(git(folder, 'rev-parse', '--show-toplevel').trim()) !== realpathSync(folder)) return null
    git(folder, 'merge-base', '--is-ancestor', base, 'HEAD')
  } catch {
    return null
  }
  const log = git(folder, 'log', '--no-merges', '--name-only', '--format=%x01%H%x00%s%x00%b%x00', `${base}..HEAD`)
  return log
    .split('\u0001')
    .slice(1)
    .map((entry) => {
      const [hash = '', subject = '', body = '', files = ''] = entry.split('\0')
      return { hash, subject, body: body.trim(), files: files.split('\n').filter((name) => name !== '') }
    })
}

function git(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}
