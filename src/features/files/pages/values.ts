/** Values of the page of files. */
import type { Moment } from '../../../pages/shared/time.ts'
import type { ActorPageValues } from '../../../pages/shared/values.ts'

export interface FileRow {
  /** The name as the forms send it. */
  readonly name: string
  /** The name with its hidden characters shown. */
  readonly label: string
  /** The address of the content, which a browser downloads. */
  readonly href: string
  /** In words, such as `2.5 MB`. */
  readonly size: string
  readonly type: string
  readonly updated: Moment
}

export interface FilesValues extends ActorPageValues {
  readonly files: readonly FileRow[]
  /** The link to the files after these; null on the last page. */
  readonly next_href: string | null
  readonly is_first: boolean
  /** How many files the actor has, how large they are together, and how large they may be, in words. */
  readonly count: number
  readonly used: string
  readonly most: string
  /** The largest file, in words. */
  readonly largest: string
  readonly form_action: string
}
