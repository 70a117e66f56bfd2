; The drives are WinFsp's: without it the app starts and says so, but nothing can be mounted. Its installer is not part of
; ours; people are told and led to its page.
!macro NSIS_HOOK_POSTINSTALL
  ReadRegStr $0 HKLM "SOFTWARE\WOW6432Node\WinFsp" "InstallDir"
  ${If} $0 == ""
    ReadRegStr $0 HKLM "SOFTWARE\WinFsp" "InstallDir"
  ${EndIf}
  ${If} $0 == ""
    MessageBox MB_YESNO|MB_ICONINFORMATION "Weightless needs WinFsp - Windows File System Proxy, Copyright (C) Bill Zissimopoulos. Open its download page now?" /SD IDNO IDNO without_winfsp
      ExecShell "open" "https://winfsp.dev/rel/"
    without_winfsp:
  ${EndIf}
!macroend
