/** A file that pages load. */
export interface Asset {
  /** File name without the hash, such as `troupe.css`. */
  readonly name: string
  /** File name with a hash of the content, such as `troupe.Xy12….css`. */
  readonly file: string
  readonly type: string
  readonly text: string
}
