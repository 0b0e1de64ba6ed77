import KistInterop
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A password manager's file` {
  @Test(arguments: tables) func `in CSV is read`(_ file: ForeignFile) throws { try file.check() }

  @Test(arguments: documents) func `in JSON is read`(_ file: ForeignFile) throws {
    try file.check()
  }

  private static let tables = [
    ForeignFile(
      "Chrome's", .chrome,
      """
      name,url,username,password,note
      GitHub,https://github.com/login,alice,"comma, ""quote""
      and newline",
      app,android://aGFzaA==@com.example.app/,bob,p,a note
      ,https://User@Example.COM:8443/?x=1,,q,
      "empty",https://a.example/,c,,
      ,HTTP://plain.example/login,dan,r,
      """,
      [
        "github.com alice = comma, \"quote\"\nand newline (GitHub)",
        "com.example.app bob = p (app)",
        "example.com:8443  = q", "http://plain.example dan = r",
      ], leftOut: [.note: [4], .withoutPassword: [6]]),
    ForeignFile(
      "Firefox's, with a byte order mark and lines from Windows", .firefox,
      "\u{FEFF}\"url\",\"username\",\"password\",\"httpRealm\",\"formActionOrigin\",\"guid\"\r\n"
        + "\"https://a.example\",\"alice\",\"p\"\"w\",,\"https://a.example\",\"{1}\"\r\n\r\n",
      ["a.example alice = p\"w"]),
    ForeignFile(
      "KeePassXC's", .keepassxc,
      """
      "Group","Title","Username","Password","URL","Notes","TOTP","Icon","Last Modified","Created"
      "Root","Router","admin","x","","","","0","2026-01-01T00:00:00Z","2026-01-01T00:00:00Z"
      "Root","Mail","a","y","mail.example","n","otpauth://totp/x","0","",""
      """,
      ["Router admin = x (Router)", "mail.example a = y (Mail)"],
      leftOut: [.note: [3], .oneTimePassword: [3]]),
    ForeignFile(
      "Bitwarden's", .bitwarden,
      """
      folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,login_password,login_totp
      ,,login,Two,,"a: b",0,"https://one.example,https://two.example",u,p,seed
      ,,note,Note,text,,0,,,,
      """,
      ["one.example u = p (Two)"],
      leftOut: [
        .oneTimePassword: [2], .furtherURLs: [2], .furtherFields: [2], .notALogin: [3],
      ]),
    ForeignFile(
      "1Password's", .onePassword,
      "Title,Url,Username,Password,OTPAuth,Favorite,Archived,Tags,Notes\nX,x.example,u,p,,0,0,,",
      ["x.example u = p (X)"]),
    ForeignFile(
      "1Password's, with an archived entry", .onePassword,
      "Title,Url,Username,Password,Archived\nX,x.example,u,p,false\nX,x.example,u,old,true",
      ["x.example u = p (X)"], leftOut: [.archived: [3]]),
    ForeignFile(
      "passwords in a URL", .chrome,
      """
      name,url,username,password
      A,"https://al:pa,ss@bank.example/",al,s1
      B,https://al:pa/ss@bank.example/,al,s2
      C,"al,pa",al,s3
      D,https://[2001:db8::1]:8443/,al,s4
      E,https://e.example:pa,al,s5
      """,
      [
        "bank.example al = s1 (A)", "B al = s2 (B)", "C al = s3 (C)",
        "[2001:db8::1]:8443 al = s4 (D)", "E al = s5 (E)",
      ]),
    ForeignFile(
      "Bitwarden's, with a comma in the first of several URLs", .bitwarden,
      """
      type,name,login_uri,login_username,login_password
      login,A,"https://a.example/?b=c,d://e,androidapp://f.example",u,p
      login,B,"https://al:pa,ss@b.example,https://c.example",u,q
      login,C,"https://c.example,d.example",u,r
      """,
      ["a.example u = p (A)", "b.example u = q (B)", "C u = r (C)"],
      leftOut: [.furtherURLs: [2, 3, 4]]),
    ForeignFile(
      "1Password's, with a URL in two columns", .onePassword,
      """
      Title,Url,Urls,Username,Password
      A,a.example,a.example,u,p
      B,b.example,c.example,u,q
      """,
      ["a.example u = p (A)", "b.example u = q (B)"], leftOut: [.furtherURLs: [3]]),
    ForeignFile(
      "KeePassXC's, taken for Firefox's", .firefox,
      """
      "Group","Title","Username","Password","URL","Notes","TOTP"
      "","","admin","x","https://a.example","",""
      "","","admin","y","https://b.example","n",""
      """,
      ["a.example admin = x", "b.example admin = y"], leftOut: [.furtherFields: [3]]),
    ForeignFile(
      "one with a column of a later version", .chrome,
      "name,url,username,password,passkey,note\nA,https://a.example,u,p,k,n",
      ["a.example u = p (A)"], leftOut: [.furtherFields: [2], .note: [2]]),
    ForeignFile(
      "one with a comma at the end of each row, and blank lines between them", .chrome,
      "url,username,password,\n\nhttps://a.example,u,p,\n\nhttps://b.example,v,q,\n",
      ["a.example u = p", "b.example v = q"]),
    ForeignFile(
      "a name that kist cannot keep", .chrome,
      "url,username,password\nhttps://a.example,\"two\nlines\",p\n,,q",
      [], leftOut: [.overLimits: [2, 4]]),
    ForeignFile(
      "a label that kist cannot keep", .chrome, "name,url,username,password\n\"a\nb\",c,d,e",
      ["c d = e"]),
  ]

  private static let documents = [
    ForeignFile(
      "Bitwarden's", .bitwarden,
      #"""
      {"encrypted": false, "folders": [], "items": [
        {"type": 1, "name": "GitHub", "notes": null, "fields": [], "login": {
          "uris": [{"match": null, "uri": "https://github.com/login"}, {"uri": "b"}], "username": "alice",
          "password": "p\u0022w", "totp": "seed", "fido2Credentials": [{"keyValue": "k"}]}},
        {"type": 2, "name": "A note", "secureNote": {"type": 0}},
        {"type": 1, "name": "No address", "notes": "n", "fields": [{"name": "pin", "value": "1"}],
          "passwordHistory": [{"lastUsedDate": "2026-01-01T00:00:00Z", "password": "old"}],
          "login": {"uris": null, "username": null, "password": "q", "totp": null}},
        {"type": 1, "name": "Twice", "login": {"uris": [{"uri": null}, {"uri": "https://e.example"},
          {"uri": "https://e.example"}], "username": "u", "password": "r"}},
        {"type": 1, "name": "Passkey only", "login": {"username": "u", "password": null}}
      ]}
      """#,
      [
        "github.com alice = p\"w (GitHub)", "No address  = q (No address)",
        "e.example u = r (Twice)",
      ],
      leftOut: [
        .oneTimePassword: [1], .passkey: [1], .notALogin: [2], .note: [3], .furtherFields: [3],
        .withoutPassword: [5], .furtherURLs: [1], .formerPasswords: [3],
      ]),
    ForeignFile(
      "1Password's", .onePassword,
      #"""
      {"accounts": [{"attrs": {"name": "A"}, "vaults": [{"attrs": {"name": "V"}, "items": [
        {"uuid": "1", "categoryUuid": "001", "details": {"loginFields": [
            {"value": "alice", "designation": "username"}, {"value": "p", "designation": "password"},
            {"value": "yes", "name": "remember"}], "notesPlain": "",
          "sections": [{"title": "", "fields": [{"title": "otp", "value": {"totp": "seed"}},
            {"title": "pin", "value": {"concealed": "1"}}]}]},
         "overview": {"title": "GitHub", "url": "https://github.com", "urls": [
            {"label": "", "url": "https://github.com"}, {"label": "", "url": "https://gist.github.com"}]}},
        {"item": {"categoryUuid": "005", "details": {"password": "q", "notesPlain": "n"},
         "overview": {"title": "Door", "url": ""}}},
        {"categoryUuid": "003", "details": {"notesPlain": "n"}, "overview": {"title": "Note"}},
        {"categoryUuid": "001", "details": {"loginFields": [{"value": "r", "designation": "password"}],
          "passwordHistory": [{"value": "old", "time": 1}]},
         "overview": {"title": "T", "urls": [{"label": "w", "url": "w.example"}]}},
        {"categoryUuid": "001", "state": "archived",
         "details": {"loginFields": [{"value": "old", "designation": "password"}]},
         "overview": {"title": "T", "url": "w.example"}}
      ]}]}]}
      """#,
      ["github.com alice = p (GitHub)", "Door  = q (Door)", "w.example  = r (T)"],
      leftOut: [
        .oneTimePassword: [1], .furtherFields: [1], .note: [2], .notALogin: [3], .archived: [5],
        .furtherURLs: [1], .formerPasswords: [4],
      ]),
  ]
}
