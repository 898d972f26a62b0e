import { optionKinds } from '../../config/option.ts'
import { parseSender, smtpUrlFault } from './smtp-settings.ts'

export const mailOptions = {
  smtpUrl: optionKinds.text<string | null>(
    {
      env: 'TROUPE_SMTP_URL',
      byDefault: null,
      secret: true,
      values: '`smtps://<user>:<password>@<host>` (encrypted from the start), or `smtp://…` (STARTTLS is required)',
      text: 'The server that sends the mail of the service. User and password are percent-encoded. Only at a loopback address, `smtp:` is not encrypted. `?tls=off` allows another server without encryption and without a password. If empty, the service sends no mail, unless the application has a handler of the event `mail`.',
    },
    smtpUrlFault,
  ),
  mailFrom: optionKinds.text<string | null>(
    {
      env: 'TROUPE_MAIL_FROM',
      byDefault: null,
      values: 'an address, with or without a name: `Notes <notes@example.com>`',
      text: 'The sender of the mail of the service. Required with `TROUPE_SMTP_URL`.',
    },
    (value) => (parseSender(value) === null ? 'must be an address such as Notes <notes@example.com>' : null),
  ),
  devMail: optionKinds.flag({
    env: 'TROUPE_DEV_MAIL',
    byDefault: (mode) => mode === 'development',
    text: 'Shows the messages to people at `/dev/mail` and prints them, in development without a mail server. In production, it has no effect.',
    defaultText: '1 in development, else 0',
  }),
} as const
